import LarderCore
import LarderRealtimeModel

/// Builds compiled rules of a file, and collects its problems.
struct RulesBuilder {
    /// The largest file, in bytes of UTF-8.
    static let maximumBytes = 1 << 20

    /// The path of a place in the file, and what its variables capture.
    private struct Place {
        var path = ""
        var level = 0
        var captures: [(name: String, component: Int)] = []

        func child(_ name: String) -> Place {
            var child = self
            child.path += "/" + name
            child.level += 1
            if name.utf8.first == UInt8(ascii: "$") { child.captures.append((name, child.level)) }
            return child
        }
    }

    private let text: [UInt8]
    private(set) var problems: [RulesProblem] = []

    private init(_ text: [UInt8]) {
        self.text = text
    }

    /// Reads and compiles a file.
    ///
    /// - Returns: the rules, and the problems, in the order of the file; no rules if there are any.
    static func build(_ text: String) -> (rules: RuleTree?, problems: [RulesProblem]) {
        var builder = RulesBuilder(Array(text.utf8))
        let rules = builder.buildFile()
        return (builder.problems.isEmpty ? rules : nil, builder.problems)
    }

    private mutating func note(_ offset: Int, _ message: String, at path: String = "") {
        let place = JSONError(offset: offset, reason: message).place(in: text)
        problems.append(
            RulesProblem(line: place.line, column: place.column, rule: path, message: message))
    }

    private mutating func buildFile() -> RuleTree? {
        guard text.count <= Self.maximumBytes else {
            note(0, "the file has more than \(Self.maximumBytes) bytes")
            return nil
        }
        let file: RulesValue
        do throws(RulesFailure) {
            file = try RulesReader.read(text)
        } catch {
            note(error.offset, error.message)
            return nil
        }
        guard case .object(let members) = file.kind, members.count == 1,
            members[0].name.string == "rules"
        else {
            note(file.offset, "a rules file is an object with the single member 'rules'")
            return nil
        }
        return build(members[0].value, Place())
    }

    // MARK: Places

    private mutating func build(_ value: RulesValue, _ place: Place) -> RuleTree? {
        guard case .object(let members) = value.kind else {
            note(value.offset, "rules are an object", at: place.path)
            return nil
        }
        var rules: [RuleKind: RuleCondition] = [:]
        var indexes: Set<NodeIndex> = []
        var children: [ChildKey: RuleTree] = [:]
        var wildcard: (name: String, rules: RuleTree?)?
        for member in members {
            let name = member.name.string
            if let kind = RuleKind(rawValue: name) {
                rules[kind] = rule(member.value, kind, place)
            } else if name == ".indexOn" {
                indexes = self.indexes(member.value, place)
            } else if name.utf8.first == UInt8(ascii: "$") {
                if let other = wildcard {
                    note(
                        member.name.offset, "there is a variable already, '\(other.name)'",
                        at: place.path)
                    continue
                }
                checkVariable(name, member, place)
                wildcard = (name, build(member.value, place.child(name)))
            } else {
                guard isKey(name, member, place) else { continue }
                children[ChildKey(name)] = build(member.value, place.child(name))
            }
        }
        return RuleTree(
            rules, indexes: indexes, children: children, wildcard: wildcard?.rules)
    }

    private mutating func isKey(
        _ name: String, _ member: RulesMember, _ place: Place
    ) -> Bool {
        if name.utf8.first == UInt8(ascii: ".") {
            note(
                member.name.offset,
                "'\(name)' is no rule: the rules are .read, .write, .validate and .indexOn",
                at: place.path)
            return false
        }
        do throws(LarderError) {
            _ = try ChildKey(validating: name)
            return true
        } catch {
            note(member.name.offset, error.message, at: place.path)
            return false
        }
    }

    private mutating func checkVariable(_ name: String, _ member: RulesMember, _ place: Place) {
        if name == "$" {
            note(member.name.offset, "the variable has no name", at: place.path)
        } else if place.captures.contains(where: { $0.name == name }) {
            note(
                member.name.offset, "the variable '\(name)' has been used above", at: place.path)
        }
    }

    // MARK: Rules

    private mutating func rule(
        _ value: RulesValue, _ kind: RuleKind, _ place: Place
    ) -> RuleCondition? {
        let path = place.path + "/" + kind.rawValue
        switch value.kind {
        case .boolean(let flag): return .constant(flag)
        case .string(let text):
            let scope = RuleScope(kind: kind, level: place.level, captures: place.captures)
            do throws(RulesFailure) {
                return try RuleCompiler.compile(try RuleParser.parse(text.bytes), in: scope)
            } catch {
                note(text.source(of: error.offset), error.message, at: path)
            }
        case .array, .object, .other:
            note(value.offset, "a rule is true, false or an expression in a string", at: path)
        }
        return nil
    }

    private mutating func indexes(_ value: RulesValue, _ place: Place) -> Set<NodeIndex> {
        let path = place.path + "/.indexOn"
        switch value.kind {
        case .string(let text): return index(text, path).map { [$0] } ?? []
        case .array(let elements):
            var indexes: Set<NodeIndex> = []
            for element in elements {
                if case .string(let text) = element.kind {
                    if let index = index(text, path) { indexes.insert(index) }
                } else {
                    note(element.offset, "an index is a string", at: path)
                }
            }
            return indexes
        case .boolean, .object, .other:
            note(value.offset, ".indexOn is a string or a list of strings", at: path)
            return []
        }
    }

    /// An index by the path that it is on.
    private mutating func index(_ text: SourceText, _ path: String) -> NodeIndex? {
        if text.string == ".value" { return .value }
        do throws(LarderError) {
            let index = try TreePath(validating: text.string)
            guard index.isEmpty else { return .child(index) }
            note(text.offset, "the path of the index is empty", at: path)
        } catch {
            note(text.offset, error.message, at: path)
        }
        return nil
    }
}
