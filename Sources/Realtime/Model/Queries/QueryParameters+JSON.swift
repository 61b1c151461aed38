extension QueryParameters {
    /// The parameters as messages and stored queries have them; an empty object for the default.
    package var json: JSONValue {
        var members: [JSONMember] = []
        if let start { members += Self.members(of: start, .start, index) }
        if let end { members += Self.members(of: end, .end, index) }
        if let limit {
            members.append(JSONMember("l", .integer(Int64(limit.count))))
            members.append(JSONMember("vf", .string(limit.anchor == .first ? "l" : "r")))
        }
        switch index {
        case .priority: break
        case .key: members.append(JSONMember("i", .string(".key")))
        case .value: members.append(JSONMember("i", .string(".value")))
        case .child(let path): members.append(JSONMember("i", .string(path.text)))
        }
        return .object(members)
    }

    /// Parameters of a message or a stored query.
    ///
    /// Exclusive bounds are understood in both notations: as a flag, and as a key that stands for
    /// the end of all keys.
    ///
    /// - Throws: `invalidArgument` if the JSON is no such object.
    package init(json: JSONValue) throws(LarderError) {
        guard case .object = json else { throw .invalidValue("a query is no JSON object") }
        switch json["i"] {
        case nil, .string(".priority"): index = .priority
        case .string(".key"): index = .key
        case .string(".value"): index = .value
        case .string(let text) where !TreePath(text).isEmpty: index = .child(TreePath(text))
        default: throw .invalidValue("the index of a query is invalid")
        }
        start = try Self.bound(.start, in: json)
        end = try Self.bound(.end, in: json)
        guard let count = json["l"] else { return }
        guard case .integer(let count) = count, (1...Int64(Int32.max)).contains(count) else {
            throw .invalidValue("the limit of a query is invalid")
        }
        switch json["vf"] {
        case .string("l"): limit = Limit(Int(count), from: .first)
        case .string("r"): limit = Limit(Int(count), from: .last)
        case nil: limit = Limit(Int(count), from: start == nil ? .last : .first)
        default: throw .invalidValue("the side of a query's limit is invalid")
        }
    }

    /// The names of a bound's members, and the key that stands for all keys beyond the bound.
    private struct BoundNames {
        let value: String, key: String, isInclusive: String
        let innermost: ChildKey, outermost: ChildKey

        static let start = BoundNames(
            value: "sp", key: "sn", isInclusive: "sin", innermost: .max, outermost: .min)
        static let end = BoundNames(
            value: "ep", key: "en", isInclusive: "ein", innermost: .min, outermost: .max)
    }

    private static func members(
        of bound: Bound, _ names: BoundNames, _ index: NodeIndex
    ) -> [JSONMember] {
        var members = [JSONMember(names.value, bound.value.json)]
        if let key = bound.key {
            members.append(JSONMember(names.key, .string(key.text)))
        } else if !bound.isInclusive && index != .key {
            members.append(JSONMember(names.key, .string(names.innermost.text)))
        }
        if !bound.isInclusive { members.append(JSONMember(names.isInclusive, .boolean(false))) }
        return members
    }

    private static func bound(
        _ names: BoundNames, in json: JSONValue
    ) throws(LarderError) -> Bound? {
        guard let value = json[names.value] else { return nil }
        var isInclusive = true
        if case .boolean(false) = json[names.isInclusive] { isInclusive = false }
        var key: ChildKey?
        if case .string(let text) = json[names.key] { key = ChildKey(wire: text) }
        if key == names.innermost { isInclusive = false }
        if key == names.outermost { isInclusive = true }
        if key?.isSentinel == true { key = nil }
        return Bound(try IndexValue(bound: value), key: key, isInclusive: isInclusive)
    }
}

extension IndexValue {
    /// The value of a bound.
    fileprivate var json: JSONValue {
        if case .leaf(let leaf) = self { leaf.json } else { .null }
    }
}
