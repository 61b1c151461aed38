import LarderRealtimeModel
import LarderRealtimeSync
import LarderSharedTestSupport

/// A server that keeps plain and tagged listens up to date, as a sync tree expects.
struct WindowServer {
    /// A message to the client.
    enum Message {
        case overwrite(TreePath, Node, tag: Int?)
        case merge(TreePath, [PathValue], tag: Int?)
        case rangeMerge(TreePath, [RangeMerge], tag: Int?)
        case completed(Key, number: Int)
        case ended(Key)
        case accepted(WriteID)
        case refused(WriteID)
    }

    struct Key: Hashable {
        let query: QuerySpec
        let tag: Int?
    }

    private(set) var truth: Node
    /// The listens with what the client has of them.
    private var listens: [Key: Node] = [:]

    init(_ truth: Node) {
        self.truth = truth
    }

    /// Begins a listen.
    mutating func listen(
        _ query: QuerySpec, tag: Int?, number: Int, hash: String, compound: CompoundHash?
    ) -> [Message] {
        let node = query.parameters.filtered(truth.node(at: query.path))
        let key = Key(query: query, tag: tag)
        listens[key] = node
        var messages: [Message] = []
        if node.hash != hash {
            if let compound {
                let merges = compound.rangeMerges(to: node)
                messages.append(.rangeMerge(query.path, merges, tag: tag))
            } else {
                messages.append(.overwrite(query.path, node, tag: tag))
            }
        }
        return messages + [.completed(key, number: number)]
    }

    mutating func unlisten(_ query: QuerySpec, tag: Int?) {
        listens[Key(query: query, tag: tag)] = nil
    }

    /// Ends all listens.
    mutating func disconnect() {
        listens = [:]
    }

    /// Applies a write and sends its effect on each listen.
    mutating func apply(_ write: PendingWrite, _ random: inout SeededRandom) -> [Message] {
        truth = truth.setting(write.values)
        var messages: [Message] = []
        for key in listens.keys.sorted(by: {
            ($0.tag ?? 0, $0.query.path) < ($1.tag ?? 0, $1.query.path)
        })
        where write.values.contains(where: { $0.path.meets(key.query.path) }) {
            messages +=
                key.tag == nil
                ? plainPush(of: write, to: key) : windowPush(of: write, to: key, &random)
        }
        return messages
    }

    private func plainPush(of write: PendingWrite, to key: Key) -> [Message] {
        let path = key.query.path
        let inside = write.values.filter { path.isAncestorOrEqual(of: $0.path) }
        if inside.count < write.values.count,
            let above = write.values.first(where: { $0.path.isAncestor(of: path) })
        {
            _ = above
            return [.overwrite(path, truth.node(at: path), tag: nil)]
        }
        if case .merge = write.change, path.isAncestorOrEqual(of: write.path) {
            return [
                .merge(
                    write.path,
                    inside.map {
                        PathValue($0.path.dropFirst(write.path.count), truth.node(at: $0.path))
                    },
                    tag: nil)
            ]
        }
        return inside.map { .overwrite($0.path, truth.node(at: $0.path), tag: nil) }
    }

    private mutating func windowPush(
        of write: PendingWrite, to key: Key, _ random: inout SeededRandom
    ) -> [Message] {
        let path = key.query.path
        let old = listens[key] ?? .empty
        let new = key.query.parameters.filtered(truth.node(at: path))
        listens[key] = new
        var changed: [Child] = []
        Node.forEachChangedChild(from: old, to: new) { child, _, node in
            changed.append(Child(child, node))
        }
        if changed.isEmpty { return [] }
        if random.oneIn(8) { return [.overwrite(path, new, tag: key.tag)] }
        if changed.count == 1, let child = changed.first, !child.node.isEmpty,
            old.hasChild(child.key), write.values.count == 1, let value = write.values.first,
            value.path.count > path.count + 1
        {
            return [.overwrite(value.path, truth.node(at: value.path), tag: key.tag)]
        }
        return [
            .merge(path, changed.map { PathValue(TreePath([$0.key]), $0.node) }, tag: key.tag)
        ]
    }
}

extension TreePath {
    fileprivate func meets(_ other: TreePath) -> Bool {
        isAncestorOrEqual(of: other) || other.isAncestor(of: self)
    }
}
