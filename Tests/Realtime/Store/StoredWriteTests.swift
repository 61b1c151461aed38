import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Pending and refused writes in a store")
struct StoredWriteTests {
    private func content(_ random: inout SeededRandom) -> StoredWrite.Content {
        var node = random.node()
        if random.oneIn(2) {
            node = node.settingChild(ChildKey("now"), to: Node(.deferred(.timestamp)))
            let delta = LeafNumber(0.5) ?? LeafNumber(1 as Int64)
            node = node.settingChild(
                ChildKey("sum"), to: Node(.deferred(.increment(delta)), priority: .string("p")))
        }
        switch random.below(3) {
        case 0: return .overwrite(random.path(), node)
        case 1:
            return .merge(
                random.path(), [PathValue(random.path(), node), PathValue(.root, .empty)])
        default:
            return .transaction(
                StoredTransaction(
                    at: random.path(), baseHash: "hash", output: node, isVisible: random.oneIn(2),
                    wasSent: random.oneIn(2)))
        }
    }

    @Test("writes are read in their order, with what the server has yet to compute")
    func order() throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        let store = try Store(configuration)
        var expected: [StoredWrite] = []
        try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            for id in 1...300 {
                let time = Timestamp(unchecked: Int64(id), 5)
                let write = StoredWrite(Int64(id), at: time, content(&random))
                try transaction.savePending(write, in: tree)
                expected.append(write)
            }
            try transaction.removePending(7, in: tree)
            expected.remove(at: 6)
        }
        try store.close()
        let reopened = try Store(configuration)
        let tree = try #require(
            try reopened.read { transaction throws(LarderError) in
                try transaction.tree(named: "demo")
            })
        try reopened.read { transaction throws(LarderError) in
            #expect(try transaction.pendingWrites(in: tree) == expected, "\(random)")
            let some = try transaction.pendingWrites(in: tree, after: 100, limit: 2)
            #expect(some == Array(expected[99...100]), "\(random)")
            #expect(try transaction.highestWriteID(in: tree) == 300)
        }
        try reopened.write { transaction throws(LarderError) in
            try transaction.removeAllPending(in: tree)
            #expect(try transaction.pendingWrites(in: tree).isEmpty)
            #expect(try transaction.highestWriteID(in: tree) == 300)
        }
        #expect(try reopened.check().isClean)
    }

    @Test("a refused write is kept with its error until it is removed")
    func refused() throws {
        var random = SeededRandom()
        let store = try Store(.inMemory())
        let refused = RefusedWrite(
            StoredWrite(4, at: Timestamp(unchecked: -3, 9), content(&random)),
            LarderError(
                .permissionDenied, "Permission denied", domain: LarderError.realtimeDomain),
            at: Timestamp(unchecked: 20, 0))
        let tree = try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            try transaction.saveRefused(refused, in: tree)
            return tree
        }
        try store.write { transaction throws(LarderError) in
            let read = try transaction.refusedWrites(in: tree)
            #expect(read.count == 1 && read.first?.write == refused.write, "\(random)")
            #expect(read.first?.time == refused.time)
            #expect(read.first?.error.kind == .permissionDenied)
            #expect(read.first?.error.message == "Permission denied")
            #expect(try transaction.removeRefused(4, in: tree))
            #expect(try !transaction.removeRefused(4, in: tree))
        }
        #expect(try store.check().isClean)
    }
}
