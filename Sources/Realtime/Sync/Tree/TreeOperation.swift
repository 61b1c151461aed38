import LarderRealtimeModel

/// A change of a tree on its way to the views that it concerns.
struct TreeOperation: Sendable {
    /// Where an operation comes from.
    enum Source: Equatable, Sendable {
        case user
        /// The server, for plain listens.
        case server
        /// The server, for the listen of one filtered query.
        case tagged
    }

    /// The change of an operation at its path.
    enum Kind: Sendable {
        case overwrite(Node)
        /// Replaces nodes at the tree's paths.
        case merge(PathTree<Node>)
        /// A write at the tree's paths was acknowledged and removed.
        case acknowledgement(PathTree<Bool>)
        /// A write at the tree's paths was refused or cancelled, and removed.
        case reversal(PathTree<Bool>)
        /// The server has sent all that was asked for.
        case completion
    }

    let source: Source
    /// The place, relative to that where the operation is.
    let path: TreePath
    let kind: Kind

    init(_ source: Source, at path: TreePath, _ kind: Kind) {
        self.source = source
        self.path = path
        self.kind = kind
    }

    /// The operation as it concerns a child; nil if it does not.
    func narrowed(to key: ChildKey) -> TreeOperation? {
        if let first = path.first {
            return first == key ? TreeOperation(source, at: path.dropFirst(), kind) : nil
        }
        return kind.narrowed(to: key).map { TreeOperation(source, at: path, $0) }
    }
}

extension TreeOperation.Kind {
    /// The children that the operation concerns; nil for all.
    var concernedChildren: [ChildKey]? {
        switch self {
        case .merge(let values): values.value == nil ? Array(values.keys) : nil
        case .acknowledgement(let affected), .reversal(let affected):
            affected.value == nil ? Array(affected.keys) : nil
        case .overwrite, .completion: nil
        }
    }

    fileprivate func narrowed(to key: ChildKey) -> Self? {
        switch self {
        case .overwrite(let node): .overwrite(node.child(key))
        case .completion: self
        case .merge(let values):
            if let node = values.value {
                .overwrite(node.child(key))
            } else {
                values.child(key).map { child in child.value.map { .overwrite($0) } ?? .merge(child)
                }
            }
        case .acknowledgement(let affected):
            affected.value != nil ? self : affected.child(key).map { .acknowledgement($0) }
        case .reversal(let affected):
            affected.value != nil ? self : affected.child(key).map { .reversal($0) }
        }
    }
}
