/// A node and the path to write it at, one of several that are written together.
@usableFromInline package struct PathValue: Equatable, Sendable {
    @usableFromInline package var path: TreePath
    @usableFromInline package var node: Node

    package init(_ path: TreePath, _ node: Node) {
        self.path = path
        self.node = node
    }
}

extension Node {
    /// The node with other nodes at several paths below it, of which none contains another, all at
    /// once.
    ///
    /// Priorities are written last, and to nodes that are not empty then.
    package func setting(_ values: [PathValue]) -> Node {
        if values.count == 1 { return setting(values[0].path, to: values[0].node) }
        var groups: [ChildKey: [PathValue]] = [:]
        for value in values {
            guard let key = value.path.first else { return value.node }
            groups[key, default: []].append(PathValue(value.path.dropFirst(), value.node))
        }
        let priority = groups.removeValue(forKey: .priority)?.first?.node
        let children = groups.map { Child($0, child($0).setting($1)) }
        // Removals come last: a node that becomes empty in between loses its priority.
        let result = settingChildren(children.filter { !$0.node.isEmpty })
            .settingChildren(children.filter(\.node.isEmpty))
        return priority.map { result.settingChild(.priority, to: $0) } ?? result
    }
}

extension [PathValue] {
    /// An application's multi-location update: an object whose names are paths below a location.
    ///
    /// - Parameter path: the location.
    /// - Throws: `invalidArgument` for what is no object, for invalid paths and values, and for
    ///   paths of which one contains another.
    package init(validatingUpdate json: JSONValue, at path: TreePath) throws(LarderError) {
        guard case .object(let members) = json else {
            throw .invalidValue("an update is an object of paths and values")
        }
        self = []
        for member in members {
            let relative = try TreePath(updating: member.name, below: path)
            let node =
                relative.isPriority
                ? Node(try Priority(validating: member.value))
                : try Node(validating: member.value, at: path.appending(relative))
            append(PathValue(relative, node))
        }
        try checkDisjoint()
    }

    /// Throws `invalidArgument` if one of the paths contains another.
    package func checkDisjoint() throws(LarderError) {
        let paths = map(\.path).sorted()
        for (path, next) in zip(paths, paths.dropFirst()) where path.isAncestorOrEqual(of: next) {
            throw .invalidPath("an update's path '\(path)' contains another, '\(next)'")
        }
    }
}

extension TreePath {
    /// The path of an update's value, relative to the location.
    init(updating name: String, below location: TreePath) throws(LarderError) {
        let place = try TreePath(validating: name, below: location, allowsPriority: true)
        self = place.dropFirst(location.count)
        guard !isEmpty else { throw .invalidPath("an update's path '\(name)' is empty") }
    }
}
