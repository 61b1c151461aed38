import LarderModel
import LarderStorage
import Synchronization

/// The open transactions and what each has read; any thread may use it.
final class TransactionRegistry: Sendable {
    private struct Entry {
        let isReadOnly: Bool
        let begun: Timestamp
        var lastUse: Timestamp
        var reads: ReadSet
        /// The commit that it reads; nil before the first read, and where too many are pinned.
        var snapshot: PinnedSnapshot?
        /// How many reads are under way.
        var readCount = 0

        /// The commit that it reads, where nobody else may.
        var ownSnapshot: PinnedSnapshot? { reads.asOf.isNone ? snapshot : nil }

        func hasExpired(at now: Timestamp) -> Bool {
            now.seconds - begun.seconds > TransactionRegistry.maxSeconds
                || readCount == 0
                    && now.seconds - lastUse.seconds > TransactionRegistry.maxIdleSeconds
        }
    }

    private struct State {
        private(set) var entries: [TransactionID: Entry] = [:]
        /// How many of them keep a commit.
        private(set) var pinnedCount = 0
        var nextNumber: UInt64
        /// The second in which those that have expired were last forgotten.
        var lastDrop: Int64?
        var isClosed = false

        init(nextNumber: UInt64) {
            self.nextNumber = nextNumber
        }

        /// Changes, adds or, with nil, forgets a transaction.
        mutating func set(_ id: TransactionID, _ entry: Entry?) {
            let old = entries.removeValue(forKey: id)
            entries[id] = entry
            pinnedCount += (entry?.snapshot == nil ? 0 : 1) - (old?.snapshot == nil ? 0 : 1)
        }

        /// An open transaction, of which something is asked.
        mutating func entry(_ id: TransactionID, at now: Timestamp) throws(LarderError) -> Entry {
            if isClosed { throw BackendCore.closed }
            guard var entry = entries[id], !entry.hasExpired(at: now) else {
                set(id, nil)
                throw .invalidArgument("the transaction is not open, or has expired")
            }
            entry.lastUse = now
            return entry
        }
    }

    /// How long a transaction may last, in seconds.
    static let maxSeconds: Int64 = 270
    /// How long nothing may be asked of a transaction, in seconds.
    static let maxIdleSeconds: Int64 = 60
    /// How many transactions at a time keep a commit to read from.
    ///
    /// The others read the newest commit, and end with `aborted` where that is not of the same
    /// moment.
    static let maxPinned = 128
    /// How many transactions may be open.
    static let maxOpen = 20_000

    private let state: Mutex<State>

    /// No transactions yet.
    ///
    /// - Parameter number: that of the first; where it differs from process to process, the
    ///   transactions of an earlier one are not taken for those of this one.
    init(from number: UInt64) {
        state = Mutex(State(nextNumber: number))
    }

    /// Opens a transaction; those that have expired are forgotten.
    ///
    /// - Parameter asOf: the moment that all is to be read of; none for the newest commit.
    /// - Throws: `resourceExhausted` where too many are open; `unavailable` once the registry is
    ///   closed.
    func begin(isReadOnly: Bool, asOf: SnapshotVersion = .none, at now: Timestamp)
        throws(LarderError) -> TransactionID
    {
        dropExpired(at: now)
        return try state.withLock { state throws(LarderError) in
            if state.isClosed { throw BackendCore.closed }
            guard state.entries.count < Self.maxOpen else {
                throw LarderError(
                    .resourceExhausted, "there are \(Self.maxOpen) open transactions, the most")
            }
            let id = TransactionID(number: state.nextNumber)
            state.nextNumber &+= 1
            state.set(
                id,
                Entry(isReadOnly: isReadOnly, begun: now, lastUse: now, reads: ReadSet(asOf: asOf)))
            return id
        }
    }

    /// Whether no transaction is open.
    func isEmpty(at now: Timestamp) -> Bool {
        state.withLock { $0.entries.values.allSatisfy { $0.hasExpired(at: now) } }
    }

    /// Forgets transactions that have expired, once a second: what they keep hinders writers.
    func dropExpired(at now: Timestamp) {
        let isDue = state.withLock { state in
            defer { state.lastDrop = now.seconds }
            return state.lastDrop != now.seconds
        }
        guard isDue else { return }
        drop { $0.hasExpired(at: now) }
    }

    /// Forgets all transactions and refuses what comes later with `unavailable`, so that the store
    /// can be closed once reads have ended.
    func close() {
        state.withLock { $0.isClosed = true }
        drop { _ in true }
    }

    /// Whether it was closed.
    var isClosed: Bool { state.withLock(\.isClosed) }

    private func drop(_ isDropped: (Entry) -> Bool) {
        let snapshots = state.withLock { state -> [PinnedSnapshot] in
            guard !state.entries.isEmpty else { return [] }
            let dropped = state.entries.filter { isDropped($0.value) }
            for id in dropped.keys { state.set(id, nil) }
            return dropped.values.compactMap(\.ownSnapshot)
        }
        for snapshot in snapshots { snapshot.end() }
    }

    /// Begins a read in an open transaction: what it has read so far, and the commit that it reads.
    ///
    /// Call ``endRead(in:adding:at:now:)`` afterwards.
    ///
    /// - Parameter pin: gives the last commit up to a moment, or the newest for none, to be kept
    ///   for the transaction; it must not use the registry.
    /// - Throws: `invalidArgument` for one that is not open, or no longer; `unavailable` once the
    ///   registry is closed.
    func beginRead(
        in id: TransactionID, at now: Timestamp,
        pin: (SnapshotVersion) throws(LarderError) -> PinnedSnapshot
    ) throws(LarderError) -> (reads: ReadSet, snapshot: PinnedSnapshot?) {
        try state.withLock { state throws(LarderError) in
            var entry = try state.entry(id, at: now)
            // Within the lock, so that nothing is pinned behind the registry's end.
            if entry.snapshot == nil, entry.reads.version.isNone,
                state.pinnedCount < Self.maxPinned
            {
                entry.snapshot = try pin(entry.reads.asOf)
            }
            entry.readCount += 1
            state.set(id, entry)
            return (entry.reads, entry.snapshot)
        }
    }

    /// Ends a read in a transaction, and adds to what that has read.
    ///
    /// - Parameter version: the commit that it was read of; none where nothing was.
    /// - Throws: `invalidArgument` for one that is no longer open; `unavailable` once the registry
    ///   is closed.
    func endRead(
        in id: TransactionID, adding reads: ReadSet, at version: SnapshotVersion, now: Timestamp
    ) throws(LarderError) {
        try state.withLock { state throws(LarderError) in
            var entry = try state.entry(id, at: now)
            entry.readCount -= 1
            entry.reads.formUnion(reads, at: version)
            state.set(id, entry)
        }
    }

    /// Ends a transaction.
    ///
    /// - Parameter writes: whether it is to end with changes.
    /// - Returns: what must still be so, which is nothing without changes: all that was read was
    ///   so at one moment.
    /// - Throws: `invalidArgument` for one that is not open, or that may not write; then it is
    ///   still open; `aborted` where it is to end with changes and a read is under way;
    ///   `unavailable` once the registry is closed.
    func end(_ id: TransactionID, writes: Bool, at now: Timestamp) throws(LarderError) -> ReadSet {
        let entry = try state.withLock { state throws(LarderError) in
            let entry = try state.entry(id, at: now)
            guard !(writes && entry.isReadOnly) else {
                throw .invalidArgument("a transaction for reading only cannot write")
            }
            state.set(id, nil)
            return entry
        }
        entry.ownSnapshot?.end()
        // What is read meanwhile would not be among what must still be so.
        guard !writes || entry.readCount == 0 else {
            throw LarderError(.aborted, "a read of the transaction is under way")
        }
        return writes || entry.snapshot == nil ? entry.reads : ReadSet()
    }
}

/// The name of an open transaction.
package struct TransactionID: Hashable, Sendable {
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// A transaction by the bytes that a client gives back; nil for bytes that name none.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The bytes that a client is given.
    package var bytes: [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
