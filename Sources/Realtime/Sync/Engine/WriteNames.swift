import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

/// The names of the stored writes, by which servers recognize them.
///
/// A name has the run of the process that made the write, see ``LarderStorage/WriteRuns``. The run of this
/// process begins with its first write, and is stored in the commit of that write.
struct WriteNames {
    /// The name of this process's run.
    let run = WriteToken.newName()
    /// The runs of the stored writes, of which other clients of the store have begun some.
    private var runs = WriteRuns()
    /// The first write of this process; nil before it is made.
    private var first: WriteID?
    private var isRunStored = false

    private static let valueName = "realtime.runs"

    /// Reads the runs of the stored writes.
    ///
    /// - Parameter client: the number of this client; 0 for the only one.
    mutating func read(from store: Store, of client: Int64) throws(LarderError) {
        runs = try store.read { (transaction) throws(LarderError) in
            try transaction.writeRuns(Self.valueName)
        }
        if let first, !isRunStored { runs.begin(run, with: first.rawValue, of: client) }
    }

    /// Notes a write that the turn's commit will store.
    mutating func noteNew(_ id: WriteID, of client: Int64) {
        guard first == nil else { return }
        first = id
        runs.begin(run, with: id.rawValue, of: client)
    }

    /// The name of a write that was made at a time.
    func name(of id: WriteID, at time: Timestamp) -> String {
        runs.name(ofWrite: id.rawValue) ?? WriteToken.name(ofWrite: id.rawValue, at: time)
    }

    /// Stores the run in the commit of its first write.
    ///
    /// - Returns: the runs for ``noteStored(_:)`` once the transaction is committed; nil if there is
    ///   nothing to store.
    func store(
        beginningWith id: WriteID?, of client: Int64, in tree: TreeNumber,
        _ transaction: inout WriteTransaction
    ) throws(LarderError) -> WriteRuns? {
        guard !isRunStored, let id else { return nil }
        return try transaction.beginWriteRun(
            run, with: id.rawValue, of: client, in: Self.valueName
        ) { (range, client, transaction) throws(LarderError) in
            try transaction.hasPendingWrite(in: tree, range, of: client)
        }
    }

    mutating func noteStored(_ runs: WriteRuns) {
        (self.runs, isRunStored) = (runs, true)
    }
}
