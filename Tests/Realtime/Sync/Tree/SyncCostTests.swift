import Foundation
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

/// What one change costs beside 200 times as much of everything: a linear part would show as a
/// factor of 200.
@Suite("The cost of a change in a sync tree")
struct SyncCostTests {
    private let path = TreePath("scores")
    private let best = TreePath("scores/k7")

    private func tree(_ size: Int, _ parameters: QueryParameters, pending: Int) throws -> SyncTree {
        var tree = SyncTree()
        for number in 0..<size {
            let room = QuerySpec(TreePath("rooms/r\(number)"))
            _ = try tree.listen(to: room, Listener(ListenerID(UInt(number)), [.value]))
        }
        for number in 0..<pending {
            let place = TreePath(number % 2 == 0 ? "other/w\(number)" : "scores/w\(number)")
            _ = tree.write(
                PendingWrite(
                    tree.newWriteID(), at: place, .overwrite(Node(.integer(Int64(number))))), at: 0)
        }
        _ = tree.serverOverwrite(
            path,
            Node(children: (0..<size).map { Child(ChildKey("k\($0)"), Node(.integer(Int64($0)))) }))
        _ = try tree.listen(
            to: QuerySpec(path, parameters),
            Listener(ListenerID(UInt(size)), Set(TreeEventType.allCases)))
        _ = tree.serverOverwrite(
            path,
            Node(children: (0..<size).map { Child(ChildKey("k\($0)"), Node(.integer(Int64($0)))) }))
        return tree
    }

    /// Processor seconds of one change, the least of several rounds.
    private func cost(_ tree: inout SyncTree, _ change: (inout SyncTree, Int) -> Int) -> Double {
        var least = Double.infinity
        for round in 0..<8 {
            let seconds = processorSeconds {
                for turn in 0..<50 { #expect(change(&tree, round * 50 + turn) > 0) }
            }
            least = min(least, seconds / 50)
        }
        return least
    }

    private func checkRatio(
        _ parameters: QueryParameters, _ change: (inout SyncTree, Int) -> Int
    ) throws {
        var small = try tree(100, parameters, pending: 0)
        var large = try tree(20_000, parameters, pending: 2_000)
        let ratio = cost(&large, change) / cost(&small, change)
        #expect(ratio < 20)
    }

    private func change(_ tree: inout SyncTree, _ turn: Int) -> Int {
        let node = Node(.integer(Int64(1_000_000 + turn)))
        let write = PendingWrite(tree.newWriteID(), at: best, .overwrite(node))
        return tree.write(write, at: 0).count + tree.serverOverwrite(best, node).count
            + tree.acknowledge(write.id).count
    }

    @Test("a plain listener: independent of children, listeners elsewhere and pending writes")
    func plain() throws {
        try checkRatio(.default) { change(&$0, $1) }
    }

    @Test("a listener in the order of values")
    func ordered() throws {
        try checkRatio(try QueryBuilder().ordered(by: .value).parameters) { change(&$0, $1) }
    }

    @Test("a full window, whose children are removed and refilled")
    func window() throws {
        let window = try QueryBuilder().ordered(by: .value).limited(toLast: 4).parameters
        try checkRatio(window) { tree, turn in
            let children = tree.value(of: QuerySpec(path, window))?.children
            guard let child = children?.first else { return 0 }
            let write = PendingWrite(
                tree.newWriteID(), at: path.child(child.key), .overwrite(.empty))
            return tree.write(write, at: 0).count + tree.revert(write.id).count
        }
    }

    @Test("writes to one path again and again, acknowledged in order")
    func onePath() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: QuerySpec(path), Listener(ListenerID(1), [.value]))
        _ = tree.serverOverwrite(path, .empty)
        func seconds(_ count: Int) -> Double {
            processorSeconds {
                var ids: [WriteID] = []
                for number in 0..<count {
                    ids.append(tree.newWriteID())
                    _ = tree.write(
                        PendingWrite(
                            ids[number], at: best, .overwrite(Node(.integer(Int64(number))))), at: 0
                    )
                }
                for id in ids { _ = tree.acknowledge(id) }
            }
        }
        let small = min(seconds(100), seconds(100))
        let large = seconds(10_000)
        #expect(large / small < 100 * 8)
    }
}
