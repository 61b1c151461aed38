import BenchmarkMeasuring
import LarderRealtimeModel
import LarderRealtimeSync

/// The processor time of one of many writes of one location, which are all queued before the server
/// accepts the first, in comparison with one of a hundredth as many.
struct PendingWrites {
    let figures: Figures
    let count: Int

    /// What each write is.
    private enum Kind: String, CaseIterable {
        case sets
        case increments
        /// Two increments in one update.
        case merges
    }

    func callAsFunction(rounds: Int) throws {
        for kind in Kind.allCases {
            for _ in 0..<rounds {
                for side in [Figure.Side.reference, .larder] {
                    let count = side == .larder ? count : count / 100
                    try figures.measure("pending-writes.\(kind.rawValue)", side, units: count) {
                        try write(kind, count)
                    }
                }
            }
        }
    }

    private func write(_ kind: Kind, _ count: Int) throws {
        let path = TreePath("counters/visits")
        let one = Node(.deferred(.increment(LeafNumber(1))))
        var tree = SyncTree()
        _ = try tree.listen(to: QuerySpec(path), Listener(ListenerID(1), [.value]))
        _ = tree.serverOverwrite(path, .empty)
        _ = tree.listenCompleted(path)
        var events = 0
        var ids: [WriteID] = []
        for number in 0..<count {
            let change: PendingWrite.Change =
                switch kind {
                case .sets: .overwrite(Node(.integer(Int64(number))))
                case .increments: .overwrite(one)
                case .merges:
                    .merge([PathValue(TreePath("a"), one), PathValue(TreePath("b"), one)])
                }
            ids.append(tree.newWriteID())
            events += tree.write(PendingWrite(ids[number], at: path, change), at: 0).count
        }
        for id in ids { events += tree.acknowledge(id).count }
        precondition(events >= count, "no events")
    }
}
