/// Consecutive children in less memory than an array takes.
enum PackedChildren: Sendable {
    /// Leaves, each of which is read by itself.
    case leaves(PackedLeaves)
    /// Children that are read together.
    case compressed(CompressedChildren)
}

extension PackedChildren: PackedElements {
    init?(_ children: some Collection<Child>) {
        guard let leaves = PackedLeaves(children) else { return nil }
        self = .leaves(leaves)
    }

    var count: Int {
        switch self {
        case .leaves(let leaves): leaves.count
        case .compressed(let run): run.count
        }
    }

    var summary: ChildrenSummary {
        switch self {
        case .leaves(let leaves): leaves.summary
        case .compressed(let run): run.summary
        }
    }

    var address: UnsafeRawPointer? {
        switch self {
        case .leaves(let leaves): leaves.address
        case .compressed(let run): UnsafeRawPointer(Unmanaged.passUnretained(run).toOpaque())
        }
    }

    subscript(index: Int) -> Child {
        switch self {
        case .leaves(let leaves): leaves[index]
        case .compressed(let run): run.children[index]
        }
    }

    func order(at index: Int, to key: ChildKey) -> Int {
        switch self {
        case .leaves(let leaves): leaves.order(at: index, to: key)
        case .compressed(let run): run.children[index].key.order(to: key)
        }
    }

    var expanded: [Child]? {
        switch self {
        case .leaves: nil
        case .compressed(let run): run.children
        }
    }

    func replacing(_ range: Range<Int>, with child: Child?) -> PackedChildren? {
        switch self {
        case .leaves(let leaves): leaves.replacing(range, with: child).map { .leaves($0) }
        case .compressed: nil
        }
    }
}
