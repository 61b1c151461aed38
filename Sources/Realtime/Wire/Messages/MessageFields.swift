package import LarderCore
import LarderRealtimeModel

extension LarderError {
    /// A message that is not of the protocol.
    package static func invalidMessage(_ problem: String) -> LarderError {
        LarderError(realtime: .invalidArgument, "invalid message: \(problem)")
    }

    /// A message that is no JSON.
    static func invalidMessage(_ error: JSONError) -> LarderError {
        .invalidMessage("\(error.reason), at byte \(error.offset)")
    }
}

/// The fields of messages that a peer sent, which is not trusted.
extension JSONValue {
    /// The text of a field.
    func text(_ name: String) throws(LarderError) -> String {
        guard case .string(let text) = self[name] else {
            throw .invalidMessage("'\(name)' is not a string")
        }
        return text
    }

    /// The text of a field; nil if the field is missing or null.
    func optionalText(_ name: String) throws(LarderError) -> String? {
        hasValue(name) ? try text(name) : nil
    }

    /// The whole number of a field.
    func number(_ name: String) throws(LarderError) -> Int64 {
        switch self[name] {
        case .integer(let number): return number
        case .double(let double):
            if let number = Int64(exactly: double.rounded(.down)) { return number }
        default: break
        }
        throw .invalidMessage("'\(name)' is not a number")
    }

    /// The whole number of a field; nil if the field is missing or null.
    func optionalNumber(_ name: String) throws(LarderError) -> Int? {
        hasValue(name) ? Int(clamping: try number(name)) : nil
    }

    /// The elements of a field that is an array.
    func elements(_ name: String) throws(LarderError) -> [JSONValue] {
        guard case .array(let elements) = self[name] else {
            throw .invalidMessage("'\(name)' is not an array")
        }
        return elements
    }

    /// The members of a field that is an object.
    func members(_ name: String) throws(LarderError) -> [JSONMember] {
        guard case .object(let members) = self[name] else {
            throw .invalidMessage("'\(name)' is not an object")
        }
        return members
    }

    /// The node in the export format of a field.
    ///
    /// - Throws: `invalidArgument` if the field is missing: an empty node is null.
    func requiredNode(_ name: String) throws(LarderError) -> Node {
        guard self[name] != nil else { throw .invalidMessage("'\(name)' is missing") }
        return try node(name)
    }

    /// The node in the export format of a field; the empty one if the field is missing.
    func node(_ name: String) throws(LarderError) -> Node {
        try Node(exported: self[name] ?? .null)
    }

    /// The path of a field.
    func path(_ name: String) throws(LarderError) -> TreePath {
        try TreePath(wire: try text(name))
    }

    /// The path of a field; nil if the field is missing or null.
    func optionalPath(_ name: String) throws(LarderError) -> TreePath? {
        hasValue(name) ? try path(name) : nil
    }

    /// The nodes of a field that is an object of paths and nodes.
    ///
    /// - Throws: `invalidArgument` also if one of the paths contains another.
    func pathValues(_ name: String) throws(LarderError) -> [PathValue] {
        var values: [PathValue] = []
        for member in try members(name) {
            values.append(
                PathValue(try TreePath(wire: member.name), try Node(exported: member.value)))
        }
        try values.checkDisjoint()
        return values
    }

    /// The nodes of an update: like ``pathValues(_:)``, but none of the location itself.
    func updateValues(_ name: String) throws(LarderError) -> [PathValue] {
        let values = try pathValues(name)
        guard !values.contains(where: \.path.isEmpty) else {
            throw .invalidMessage("'\(name)' has an empty path")
        }
        return values
    }

    /// The query of a field `q`; nil if the field is missing or null.
    func queryParameters() throws(LarderError) -> QueryParameters? {
        guard hasValue("q"), let query = self["q"] else { return nil }
        if case .string(let index) = query["i"] { _ = try TreePath(wire: index) }
        return try QueryParameters(json: query)
    }

    private func hasValue(_ name: String) -> Bool {
        self[name].map { $0 != .null } ?? false
    }
}

extension TreePath {
    /// The longest path that servers have: keys of the maximum size at all levels, a priority, and
    /// slashes.
    private static let maximumWireBytes = (maximumDepth + 2) * (ChildKey.maximumBytes + 1)

    /// The path of a peer's text, whose keys are not validated.
    ///
    /// - Throws: `invalidArgument` if it is longer or deeper than any path of a server.
    init(wire text: String) throws(LarderError) {
        guard text.utf8.count <= Self.maximumWireBytes else {
            throw .invalidMessage("a path has \(text.utf8.count) bytes")
        }
        let path = TreePath(text)
        guard path.count <= Self.maximumDepth + 1 else {
            throw .invalidMessage("a path has \(path.count) levels")
        }
        self = path
    }
}

extension [PathValue] {
    /// The object of paths and nodes in the export format.
    var json: JSONValue {
        .object(map { JSONMember($0.path.text, $0.node.exportedJSON) })
    }
}

extension [JSONMember] {
    /// Adds a member unless its value is nil.
    mutating func add(_ name: String, _ value: JSONValue?) {
        if let value { append(JSONMember(name, value)) }
    }

    /// Adds a member with a number unless that is nil.
    mutating func add(_ name: String, _ number: Int?) {
        add(name, number.map { .integer(Int64($0)) })
    }
}
