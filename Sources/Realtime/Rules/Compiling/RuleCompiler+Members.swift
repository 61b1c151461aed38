import LarderRealtimeModel

extension RuleCompiler {
    // MARK: Properties

    func member(
        _ base: RuleSyntax, _ name: String, at offset: Int
    ) throws(RulesFailure) -> Compiled {
        let owner = try compile(base)
        switch owner {
        case .query: return try queryProperty(name, at: offset)
        case .operand(let operand, .any): return .operand(.member(operand, name), .any)
        case .operand(let operand, let type) where name == "length" && type.canBe(.string):
            return .operand(.member(operand, name), .number)
        case .location where Self.methods.contains(name):
            throw RulesFailure(offset, "'\(name)' is a method: call it with '()'")
        default: throw Self.unknown("property", name, of: owner, at: offset)
        }
    }

    private static func unknown(
        _ kind: String, _ name: String, of owner: Compiled, at offset: Int
    ) -> RulesFailure {
        RulesFailure(offset, "\(owner.text) has no \(kind) '\(name)'")
    }

    private func queryProperty(_ name: String, at offset: Int) throws(RulesFailure) -> Compiled {
        if let order = RuleCondition.QueryOrder(rawValue: name) {
            return .condition(.orders(order))
        }
        guard let field = RuleOperand.QueryField(rawValue: name) else {
            throw Self.unknown("property", name, of: .query, at: offset)
        }
        let type: RuleType =
            switch field {
            case .orderByChild: .string
            case .startAt, .endAt, .equalTo: .primitive
            case .limitToFirst, .limitToLast: .number
            }
        return .operand(.query(field), type)
    }

    func element(_ base: RuleSyntax, _ key: RuleSyntax) throws(RulesFailure) -> Compiled {
        let owner = try compile(base)
        guard case .operand(let operand, .any) = owner else {
            throw RulesFailure(
                key.offset, "only 'auth' has properties whose names are computed, not \(owner.text)"
            )
        }
        let name = try self.operand(key, "a property's name", .string, .number).0
        return .operand(.element(operand, name), .any)
    }

    // MARK: Methods

    private static let methods: Set<String> = [
        "val", "child", "parent", "hasChild", "hasChildren", "exists", "getPriority", "isNumber",
        "isString", "isBoolean",
    ]

    func call(
        _ callee: RuleSyntax, _ arguments: [RuleSyntax], at offset: Int
    ) throws(RulesFailure) -> Compiled {
        guard case .member(let base, let name) = callee.form else {
            throw RulesFailure(offset, "only methods can be called")
        }
        let method = Method(name: name, arguments: arguments, offset: callee.offset)
        let owner = try compile(base)
        switch owner {
        case .location(let location):
            if let result = try snapshotMethod(method, of: location) { return result }
        case .operand(let operand, let type) where type.canBe(.string):
            if let result = try stringMethod(method, of: operand) { return result }
        default: break
        }
        throw Self.unknown("method", name, of: owner, at: callee.offset)
    }

    /// A call of a method.
    private struct Method {
        let name: String
        let arguments: [RuleSyntax]
        let offset: Int

        func expectArguments(_ count: Int) throws(RulesFailure) {
            guard arguments.count == count else {
                let expected =
                    count == 0 ? "no arguments" : count == 1 ? "1 argument" : "\(count) arguments"
                throw RulesFailure(offset, "'\(name)' takes \(expected), not \(arguments.count)")
            }
        }
    }

    private func text(_ syntax: RuleSyntax, of method: Method) throws(RulesFailure) -> RuleOperand {
        try operand(syntax, "an argument of '\(method.name)'", .string).0
    }

    private func stringMethod(
        _ method: Method, of base: RuleOperand
    ) throws(RulesFailure) -> Compiled? {
        if let test = RuleCondition.TextTest(rawValue: method.name) {
            try method.expectArguments(1)
            return .condition(.text(test, base, try text(method.arguments[0], of: method)))
        }
        switch method.name {
        case "toLowerCase":
            try method.expectArguments(0)
            return .operand(.lowercased(base), .string)
        case "toUpperCase":
            try method.expectArguments(0)
            return .operand(.uppercased(base), .string)
        case "replace":
            try method.expectArguments(2)
            let old = try text(method.arguments[0], of: method)
            let new = try text(method.arguments[1], of: method)
            return .operand(.replacing(base, old, with: new), .string)
        case "matches":
            try method.expectArguments(1)
            guard case .pattern(let pattern) = try compile(method.arguments[0]) else {
                throw RulesFailure(
                    method.arguments[0].offset,
                    "the argument of 'matches' must be a regular expression between slashes")
            }
            return .condition(.matches(base, pattern))
        default: return nil
        }
    }

    private func snapshotMethod(
        _ method: Method, of location: RuleLocation
    ) throws(RulesFailure) -> Compiled? {
        switch method.name {
        case "child":
            try method.expectArguments(1)
            return .location(location.appending(try steps(method.arguments[0], of: method)))
        case "hasChild":
            try method.expectArguments(1)
            return .condition(.hasData(location, [try step(method.arguments[0], of: method)]))
        case "hasChildren" where !method.arguments.isEmpty:
            return .condition(.hasData(location, try list(of: method)))
        default: break
        }
        guard Self.methods.contains(method.name) else { return nil }
        try method.expectArguments(0)
        switch method.name {
        case "val": return .operand(.value(location), .primitive)
        case "getPriority": return .operand(.priority(location), .primitive)
        case "parent": return .location(location.parent)
        default:
            return RuleCondition.NodeTest(rawValue: method.name).map {
                .condition(.test($0, location))
            }
        }
    }

    // MARK: Paths

    /// The paths in the list that `hasChildren` takes.
    private func list(of method: Method) throws(RulesFailure) -> [RuleLocation.Step] {
        try method.expectArguments(1)
        guard case .list(let elements) = method.arguments[0].form, !elements.isEmpty else {
            throw RulesFailure(
                method.arguments[0].offset,
                "the argument of 'hasChildren' must be a list of at least one string")
        }
        var steps: [RuleLocation.Step] = []
        for element in elements { steps.append(try step(element, of: method)) }
        return steps
    }

    /// A path as one step.
    private func step(
        _ syntax: RuleSyntax, of method: Method
    ) throws(RulesFailure) -> RuleLocation.Step {
        let path = try steps(syntax, of: method)
        return path.count == 1 ? path[0] : .path(try text(syntax, of: method))
    }

    /// A path as steps: those of its components, if they are known.
    private func steps(
        _ syntax: RuleSyntax, of method: Method
    ) throws(RulesFailure) -> [RuleLocation.Step] {
        guard case .string(let path) = syntax.form else {
            return [.path(try text(syntax, of: method))]
        }
        return TreePath(path).map { .child($0) }
    }
}

extension RuleLocation {
    /// The place at some steps from this one.
    func appending(_ steps: [Step]) -> RuleLocation {
        switch self {
        case .none: return .none
        case .place(var place):
            place.steps += steps
            return .place(place)
        case .choice(let condition, let first, let second):
            return .choice(condition, first.appending(steps), second.appending(steps))
        }
    }

    /// The place above this one.
    var parent: RuleLocation {
        switch self {
        case .none: return .none
        case .place(var place):
            switch place.steps.last {
            case .child: place.steps.removeLast()
            case .path, .parent: place.steps.append(.parent)
            case nil:
                guard place.level > 0 else { return .none }
                return .place(Place(isAfterWrite: place.isAfterWrite, level: place.level - 1))
            }
            return .place(place)
        case .choice(let condition, let first, let second):
            return .choice(condition, first.parent, second.parent)
        }
    }
}
