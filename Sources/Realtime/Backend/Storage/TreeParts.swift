import LarderRealtimeModel

/// Divides nodes that are stored into parts, so that a large one is never encoded as a whole.
///
/// A large node is replaced by a small one with its first key; then its children follow, and its
/// priority. No node on the way is ever empty in between, which would lose its priority.
struct TreeParts {
    /// The estimated size of a part.
    static let maxBytes = 4 << 20

    private let maxBytes: Int
    private var size = 0
    /// The last part, which is not written yet.
    private(set) var rest: [PathValue] = []

    init(maxBytes: Int = Self.maxBytes) {
        self.maxBytes = maxBytes
    }

    /// Adds a node.
    ///
    /// - Parameter write: called with each part that is complete.
    mutating func add(
        _ value: PathValue, _ write: ([PathValue]) throws(LarderError) -> Void
    ) throws(LarderError) {
        let (path, node) = (value.path, value.node)
        guard node.estimatedSize > maxBytes, let first = node.children.first else {
            if size + node.estimatedSize > maxBytes { try flush(write) }
            size += node.estimatedSize
            rest.append(value)
            return
        }
        try flush(write)
        let beginning = Child(first.key, Node(.boolean(true)))
        try write([PathValue(path, Node(children: [beginning]))])
        for child in node.children {
            try add(PathValue(path.child(child.key), child.node), write)
        }
        guard node.priority != .none else { return }
        try flush(write)
        try write([PathValue(path.child(.priority), Node(node.priority))])
    }

    private mutating func flush(
        _ write: ([PathValue]) throws(LarderError) -> Void
    ) throws(LarderError) {
        if !rest.isEmpty { try write(rest) }
        (rest, size) = ([], 0)
    }
}
