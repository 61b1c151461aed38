/// How JSON is turned into a node.
struct NodeImport {
    /// True for data of an application, which is refused where it is invalid; false for data of a
    /// server or a store, of which invalid parts are left out.
    let isStrict: Bool

    /// Deeper data is refused, so that recursion ends.
    private static let maximumDepth = 1000

    /// A place in the data: its key, and the place above.
    struct Place {
        var depth = 0
        var bytes = 0
        var path: TreePath

        /// The place of what is written to a path.
        init(writing path: TreePath) {
            self.path = path
            for key in path { self = child(key) }
        }

        private init(depth: Int, bytes: Int, path: TreePath) {
            (self.depth, self.bytes, self.path) = (depth, bytes, path)
        }

        func child(_ key: ChildKey) -> Place {
            let separator = depth == 0 ? 0 : 1
            return Place(
                depth: depth + 1, bytes: bytes + separator + key.text.utf8.count, path: path)
        }
    }

    func node(
        _ json: JSONValue, priority inherited: JSONValue?, at place: Place
    ) throws(LarderError) -> Node {
        switch json {
        case .null: return .empty
        case .array(let elements):
            var children = ChildrenBuilder()
            for (index, element) in elements.enumerated() {
                try add(ChildKey(String(index)), element, at: place, to: &children)
            }
            return children.node(priority: try priority(inherited))
        case .object(let members):
            return try node(of: members, priority: inherited, at: place)
        case .boolean, .integer, .double, .string:
            return Node(try leaf(json), priority: try priority(inherited))
        }
    }

    private func node(
        of members: [JSONMember], priority inherited: JSONValue?, at place: Place
    ) throws(LarderError) -> Node {
        var children = ChildrenBuilder()
        var others: [JSONMember] = []
        for member in members {
            if member.name.utf8.first == UInt8(ascii: ".") {
                others.append(member)
            } else {
                try check(key: member.name)
                try add(ChildKey(member.name), member.value, at: place, to: &children)
            }
        }
        return try node(children, others, priority: inherited, at: place)
    }

    /// The node of an object.
    ///
    /// - Parameter others: the members whose names begin with a dot.
    func node(
        _ children: ChildrenBuilder, _ others: [JSONMember], priority inherited: JSONValue? = nil,
        at place: Place
    ) throws(LarderError) -> Node {
        let json = JSONValue.object(others)
        if let value = json[".sv"] {
            let isAlone = others.count == 1 && children.isEmpty
            guard isAlone || !isStrict else {
                throw .invalidValue("a server value has other members beside '.sv'")
            }
            return Node(.deferred(try serverValue(value)), priority: try priority(inherited))
        }
        let strange = others.first { $0.name != ".value" && $0.name != ".priority" }
        let ownPriority = json[".priority"] ?? inherited
        if let value = json[".value"], value != .null {
            if isStrict, !children.isEmpty || strange != nil {
                throw .invalidValue("an object with '.value' has children as well")
            }
            return try node(value, priority: ownPriority, at: place)
        }
        if let strange { try check(key: strange.name) }
        return children.node(priority: try priority(ownPriority))
    }

    private func add(
        _ key: ChildKey, _ json: JSONValue, at place: Place, to children: inout ChildrenBuilder
    ) throws(LarderError) {
        let place = place.child(key)
        try check(place)
        children.append(Child(key, try node(json, priority: nil, at: place)))
    }

    /// Throws `invalidArgument` for a name that is no key.
    func check(key name: String) throws(LarderError) {
        if isStrict, let problem = ChildKey.problem(in: name) {
            throw .invalidPath("the key '\(name)' \(problem)")
        }
    }

    /// Throws `invalidArgument` for a place that is too deep.
    func check(_ place: Place) throws(LarderError) {
        let maximumDepth = isStrict ? TreePath.maximumDepth : Self.maximumDepth
        guard place.depth <= maximumDepth else {
            throw .invalidValue(
                "the data at \(place.path) is too deep: \(maximumDepth) levels are allowed")
        }
        guard !isStrict || place.bytes <= TreePath.maximumBytes else {
            throw .invalidPath(
                "a path below \(place.path) is too long: \(TreePath.maximumBytes) bytes are allowed"
            )
        }
    }

    // MARK: Leaves

    func leaf(_ json: JSONValue) throws(LarderError) -> LeafValue {
        switch json {
        case .boolean(let flag): return .boolean(flag)
        case .integer(let integer): return .integer(integer)
        case .double(let double):
            guard let value = LeafValue.double(double) else {
                throw .invalidValue("\(double) is not a number that can be stored")
            }
            return value
        case .string(let text):
            guard !isStrict || text.utf8.count <= LeafValue.maximumStringBytes else {
                throw .invalidValue(
                    "a string has \(text.utf8.count) bytes; \(LeafValue.maximumStringBytes) are allowed"
                )
            }
            return .string(text)
        case .object(let members):
            guard members.count == 1, let value = json[".sv"] else { break }
            return .deferred(try serverValue(value))
        case .null, .array: break
        }
        throw .invalidValue("an object or array stands where a number, string or boolean must be")
    }

    private func serverValue(_ json: JSONValue) throws(LarderError) -> ServerValue {
        if case .string("timestamp") = json { return .timestamp }
        if case .object(let members) = json, members.count == 1,
            case .number(let delta)? = try json["increment"].map(leaf)
        {
            return .increment(delta)
        }
        throw .invalidValue("'.sv' is neither a timestamp nor an increment by a number")
    }

    func priority(_ json: JSONValue?) throws(LarderError) -> Priority {
        guard let json, json != .null else { return .none }
        if let priority = Priority(try leaf(json)) { return priority }
        guard isStrict else { return .none }
        throw .invalidValue("a boolean is not a valid priority: use a number or a string")
    }
}

extension Node {
    /// The node of JSON that an application writes.
    ///
    /// - Parameters:
    ///   - priority: the node's priority, unless the JSON has one.
    ///   - path: the place that is written to, for the limits of paths.
    /// - Throws: `invalidArgument` for invalid keys, values and priorities, for strings that are
    ///   too long, and for paths that are too long or too deep.
    package init(
        validating json: JSONValue, priority: JSONValue? = nil, at path: TreePath = .root
    ) throws(LarderError) {
        self = try NodeImport(isStrict: true).node(
            json, priority: priority, at: NodeImport.Place(writing: path))
    }

    /// The node of JSON in the export format, from a server or a store.
    ///
    /// Members that are no children are ignored.
    ///
    /// - Throws: `invalidArgument` if the JSON is no such format or nested too deep.
    package init(exported json: JSONValue) throws(LarderError) {
        self = try NodeImport(isStrict: false).node(
            json, priority: nil, at: NodeImport.Place(writing: .root))
    }
}

extension Priority {
    /// The priority that an application sets.
    ///
    /// - Throws: `invalidArgument` if the JSON is neither null, a number, a string nor a server
    ///   value.
    package init(validating json: JSONValue) throws(LarderError) {
        self = try NodeImport(isStrict: true).priority(json)
    }
}
