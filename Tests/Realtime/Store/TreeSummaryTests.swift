import LarderRealtimeModel
import LarderRealtimeStore
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Summaries of trees")
struct TreeSummaryTests {
    private func write(_ id: Int64) -> StoredWrite {
        StoredWrite(
            id, at: Timestamp(unchecked: id, 0), .overwrite(TreePath("a"), Node(.integer(id))))
    }

    @Test("queries and writes are counted by tree, as a check counts them together")
    func counts() throws {
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        let store = try Store(configuration)
        try store.write { transaction throws(LarderError) in
            let first = try transaction.obtainTree(named: "first")
            try transaction.overwrite(TreePath("a/b"), with: Node(.integer(1)), in: first)
            for id in 1...3 {
                let query = TrackedQuery(
                    TrackedQueryID(Int64(id)), QuerySpec(TreePath("a/\(id)")), lastUse: 0)
                try transaction.save(query, in: first)
            }
            // Its data is to be evicted, which is noted in the same table.
            try transaction.removeTrackedQuery(TrackedQueryID(2), in: first)
            for id in Int64(1)...5 { try transaction.savePending(write(id), in: first) }
            let second = try transaction.obtainTree(named: "second")
            try transaction.savePending(write(7), in: second)
            try transaction.saveRefused(
                RefusedWrite(
                    write(9),
                    LarderError(.permissionDenied, "no", domain: LarderError.realtimeDomain),
                    at: Timestamp(unchecked: 9, 0)),
                in: second)
        }
        let summaries = try store.read { transaction throws(LarderError) in
            try transaction.treeSummaries()
        }
        #expect(summaries.map(\.name) == ["first", "second"])
        #expect(summaries.map(\.trackedQueryCount) == [2, 0])
        #expect(summaries.map(\.pendingWriteCount) == [5, 1])
        #expect(summaries.map(\.refusedWriteCount) == [0, 1])
        let report = try store.check()
        #expect(report.isClean)
        #expect(report.trackedQueryCount == 2)
        #expect(report.nodeWriteCount == 7)
        #expect(report.nodeRowCount > 0)
    }
}
