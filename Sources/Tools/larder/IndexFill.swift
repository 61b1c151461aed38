import LarderModel
import LarderStorage

/// Puts documents into the indexes that are not complete, in steps of which each is a commit, and
/// takes away what dropped ones have left.
struct IndexFill {
    /// The store.
    let store: Store

    private static let stepCount: Int64 = 1000

    /// Fills all indexes, with a progress bar, until a signal stops it.
    func run() throws(LarderError) {
        Interruption.catchSignals()
        try removeRemains()
        let incomplete = try store.read { txn throws(LarderError) in
            try txn.indexes().filter { !$0.isComplete }.map(\.id)
        }
        for id in incomplete { try fill(id) }
    }

    /// Fills one index.
    func fill(_ id: UInt32) throws(LarderError) {
        var bar = ProgressBar("index", unit: .count("documents"))
        defer { bar.finish() }
        var isDone = false
        while !isDone && !Interruption.isRequested {
            let progress = try store.write { txn throws(LarderError) in
                try txn.backfillIndex(id, maxDocuments: Self.stepCount)
            }
            bar.update(progress.doneCount, of: progress.totalCount)
            isDone = progress.isComplete
        }
    }

    private func removeRemains() throws(LarderError) {
        var isDone = false
        while !isDone && !Interruption.isRequested {
            isDone = try store.write { txn throws(LarderError) in
                // 0 stands for whatever is half dropped.
                try txn.dropIndex(0, maxEntries: Self.stepCount)
            }
        }
    }
}
