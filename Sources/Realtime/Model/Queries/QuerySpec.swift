/// A query of the children at a location.
package struct QuerySpec: Hashable, Sendable {
    package var path: TreePath
    package var parameters: QueryParameters

    package init(_ path: TreePath, _ parameters: QueryParameters = .default) {
        self.path = path
        self.parameters = parameters
    }

    /// True for a query without bounds and limit, ordered by priority: a plain location.
    package var isDefault: Bool { parameters.isDefault }

    /// True for a query without bounds and limit.
    package var loadsAllData: Bool { parameters.loadsAllData }

    /// Throws `invalidArgument` if the path, or that of the order, is invalid.
    ///
    /// - Parameter allowsPriority: true if the path may end in `.priority`.
    package func validate(allowsPriority: Bool = false) throws(LarderError) {
        try path.validate(allowsPriority: allowsPriority)
        if case .child(let path) = parameters.index { try path.validate() }
    }

    /// The query that is listened to and stored in place of this one: the plain location if the
    /// query loads all data.
    package var normalized: QuerySpec {
        QuerySpec(path, parameters.normalized)
    }
}
