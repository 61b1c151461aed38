/// A set of field paths: the fields that a patch sets or deletes.
public struct FieldMask: Hashable, Sendable {
    /// The paths in their order, no two alike.
    public let paths: [FieldPath]

    /// A mask of paths in any order.
    public init(_ paths: some Sequence<FieldPath>) {
        var unique: [FieldPath] = []
        for path in paths.sorted() where unique.last != path { unique.append(path) }
        self.paths = unique
    }

    /// The paths of every leaf in a map: an empty map inside is a leaf, and so is an array.
    public init(leavesOf map: MapValue) {
        var paths: [FieldPath] = []
        Self.collectLeaves(of: map, below: [], into: &paths)
        self.init(paths)
    }

    /// Whether the path or one that it leads through is in the mask.
    ///
    /// Linear in the number of paths.
    public func covers(_ path: FieldPath) -> Bool {
        paths.contains { $0.isPrefix(of: path) }
    }

    private static func collectLeaves(
        of map: MapValue, below names: [String], into paths: inout [FieldPath]
    ) {
        for (name, value) in map {
            if case .map(let inner) = value, !inner.isEmpty {
                collectLeaves(of: inner, below: names + [name], into: &paths)
            } else {
                paths.append(FieldPath(unchecked: names + [name]))
            }
        }
    }
}
