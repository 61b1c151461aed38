import Dispatch
import LarderCore
import LarderDocumentStore
import LarderModel
import Synchronization

/// The open transactions with their read sets; can be used from any thread.
final class TransactionRegistry: Sendable {
    private struct Entry {
        let isReadOnly: Bool
        let client: Client
        let begun: Timestamp
        /// The number of the transaction that this one attempts again, or its own.
        let seniority: UInt64
        /// Whether locks are held on what is read.
        var takesLocks = false
        var lastUse: Timestamp
        var reads: ReadSet
        /// The pinned commit; nil before the first read, or if too many are pinned.
        var snapshot: PinnedSnapshot?
        var readCount = 0

        /// The pinned commit if it is not shared.
        var ownSnapshot: PinnedSnapshot? { reads.asOf.isNone ? snapshot : nil }

        /// The approximate size in memory.
        var bytes: Int {
            reads.bytes + (takesLocks ? reads.documentCount * TransactionRegistry.lockBytes : 0)
        }

        func hasExpired(at now: Timestamp) -> Bool {
            now.seconds - begun.seconds > TransactionRegistry.maxSeconds
                || readCount == 0
                    && now.seconds - lastUse.seconds > TransactionRegistry.maxIdleSeconds
        }
    }

    /// A client, identified by an account that it keeps; nil for none.
    private struct Client: Hashable {
        let account: MemoryAccount?

        static func == (left: Self, right: Self) -> Bool { left.account === right.account }

        func hash(into hasher: inout Hasher) {
            hasher.combine(account.map(ObjectIdentifier.init))
        }
    }

    /// The transactions of a client.
    private struct Holding {
        var count = 0
        /// Is charged for their read sets; nil for no limit.
        let memory: MemoryAccount?
    }

    private struct State {
        private(set) var entries: [TransactionID: Entry] = [:]
        /// The number of transactions with a pinned commit.
        private(set) var pinnedCount = 0
        var nextNumber: UInt64
        /// The second of the last removal of expired transactions.
        var lastDrop: Int64?
        var isClosed = false
        private var holdings: [Client: Holding] = [:]
        private let openAccount: @Sendable (Client) -> MemoryAccount?

        /// - Parameter openAccount: opens the account for the read sets of a client.
        init(nextNumber: UInt64, openAccount: @escaping @Sendable (Client) -> MemoryAccount?) {
            self.nextNumber = nextNumber
            self.openAccount = openAccount
        }

        /// Changes, adds or, with nil, removes a transaction.
        mutating func set(_ id: TransactionID, _ entry: Entry?) {
            let old = entries.removeValue(forKey: id)
            entries[id] = entry
            if let client = entry?.client ?? old?.client {
                hold(
                    client, count: (entry == nil ? 0 : 1) - (old == nil ? 0 : 1),
                    bytes: (entry?.bytes ?? 0) - (old?.bytes ?? 0))
            }
            pinnedCount += (entry?.snapshot == nil ? 0 : 1) - (old?.snapshot == nil ? 0 : 1)
        }

        /// Changes the number of a client's transactions and the bytes that they have read.
        private mutating func hold(_ client: Client, count: Int, bytes: Int) {
            var holding = holdings[client] ?? Holding(memory: openAccount(client))
            holding.count += count
            holding.memory?.change(by: bytes)
            if holding.count == 0 { holding.memory?.close() }
            holdings[client] = holding.count == 0 ? nil : holding
        }

        /// An open transaction, marked as used.
        mutating func entry(_ id: TransactionID, at now: Timestamp) throws(LarderError) -> Entry {
            if isClosed { throw BackendCore.closed }
            // An expired one is removed with its locks later.
            guard var entry = entries[id], !entry.hasExpired(at: now) else {
                throw .invalidArgument(
                    "the transaction is not open, has expired, or has read more than the server's memory allows"
                )
            }
            entry.lastUse = now
            return entry
        }
    }

    /// The maximum duration of a transaction in seconds.
    static let maxSeconds: Int64 = 270
    /// The maximum idle time of a transaction in seconds.
    static let maxIdleSeconds: Int64 = 60
    /// The maximum number of transactions with a pinned commit.
    ///
    /// Others read the newest commit, and fail with `aborted` if it differs from that of their
    /// first read.
    static let maxPinned = 128
    /// The approximate size of a lock in memory, without the path.
    static let lockBytes = 200
    /// The maximum number of open transactions.
    static let maxOpen = 20_000

    private let state: Mutex<State>
    /// The locks of transactions on what they have read.
    let locks: TransactionLocks

    /// Creates an empty registry.
    ///
    /// - Parameters:
    ///   - number: the first ID; random numbers prevent confusion with transactions of an earlier
    ///     process.
    ///   - ledger: counts the memory of read sets; nil for no limit.
    init(from number: UInt64, _ ledger: MemoryLedger? = nil) {
        let reference = Reference()
        state = Mutex(
            State(nextNumber: number) { client in
                ledger?.open(for: client.account?.address ?? "") { completion in
                    // Not under the lock of the change that has exceeded the limit.
                    DispatchQueue.global().async {
                        reference.registry.withLock(\.value)?.dropLargest(of: client)
                        completion()
                    }
                }
            })
        locks = TransactionLocks { id in
            reference.registry.withLock(\.value)?.hasLeft(id) ?? true
        }
        reference.registry.withLock { $0.value = self }
    }

    /// Whether the client of a transaction has closed its connection.
    private func hasLeft(_ id: TransactionID) -> Bool {
        state.withLock { $0.entries[id]?.client.account?.isClosed ?? false }
    }

    /// Refers to a registry that is being initialised.
    private final class Reference: Sendable {
        struct Weak: Sendable {
            weak var value: TransactionRegistry?
        }

        let registry = Mutex(Weak())
    }

    /// Removes the transaction of a client that has read the most.
    private func dropLargest(of client: Client) {
        let largest = state.withLock { state in
            state.entries.filter { $0.value.client == client }
                .max { $0.value.bytes < $1.value.bytes }?.key
        }
        if let largest { drop { id, _ in id == largest } }
    }

    /// Begins a transaction and removes expired ones.
    ///
    /// - Parameters:
    ///   - asOf: the read time; none for the newest commit.
    ///   - former: the transaction that is attempted again, which makes this one as old; nil for
    ///     none.
    ///   - client: identifies the client, whose transactions are charged together; nil for none.
    /// - Throws: `resourceExhausted` if too many are open; `unavailable` if the registry is closed.
    func begin(
        isReadOnly: Bool, asOf: SnapshotVersion = .none, after former: TransactionID? = nil,
        for client: MemoryAccount? = nil, at now: Timestamp
    ) throws(LarderError) -> TransactionID {
        dropExpired(at: now)
        return try state.withLock { state throws(LarderError) in
            if state.isClosed { throw BackendCore.closed }
            guard state.entries.count < Self.maxOpen else {
                throw LarderError(
                    .resourceExhausted, "the limit of \(Self.maxOpen) open transactions is reached")
            }
            let id = TransactionID(number: state.nextNumber)
            state.nextNumber &+= 1
            state.set(
                id,
                Entry(
                    isReadOnly: isReadOnly, client: Client(account: client), begun: now,
                    seniority: min(former?.number ?? id.number, id.number), lastUse: now,
                    reads: ReadSet(asOf: asOf)))
            return id
        }
    }

    /// Whether no transaction is open.
    func isEmpty(at now: Timestamp) -> Bool {
        state.withLock { $0.entries.values.allSatisfy { $0.hasExpired(at: now) } }
    }

    /// Removes expired transactions, once a second: their pinned commits prevent reuse of space.
    func dropExpired(at now: Timestamp) {
        let isDue = state.withLock { state in
            defer { state.lastDrop = now.seconds }
            return state.lastDrop != now.seconds
        }
        guard isDue else { return }
        drop { $1.hasExpired(at: now) }
    }

    /// Removes all transactions and rejects later calls with `unavailable`, so that the store can
    /// be closed when reads have ended.
    func close() {
        state.withLock { $0.isClosed = true }
        drop { _, _ in true }
        locks.close()
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    private func drop(_ isDropped: (TransactionID, Entry) -> Bool) {
        let dropped = state.withLock { state -> [TransactionID: Entry] in
            guard !state.entries.isEmpty else { return [:] }
            let dropped = state.entries.filter { isDropped($0.key, $0.value) }
            for id in dropped.keys { state.set(id, nil) }
            return dropped
        }
        for entry in dropped.values { entry.ownSnapshot?.end() }
        if !dropped.isEmpty { locks.release(dropped.keys) }
    }

    /// Waits until a transaction may read, and locks what it reads.
    ///
    /// Returns immediately. A read-only transaction and one that reads in the past do not wait.
    ///
    /// - Parameters:
    ///   - keys: what will be read.
    ///   - completion: called with success at the transaction's turn; with `aborted` if it is the
    ///     youngest in a deadlock; with `unavailable` if the backend is closed. Not called if the
    ///     transaction need not wait.
    /// - Returns: the wait; nil if the transaction need not wait.
    /// - Throws: `invalidArgument` if it is not open.
    func awaitTurn(
        of id: TransactionID, toRead keys: [LockKey], at now: Timestamp,
        _ completion: @escaping TransactionLocks.Completion
    ) throws(LarderError) -> DocumentLocks.WaitID? {
        let seniority = try state.withLock { state throws(LarderError) -> UInt64? in
            var entry = try state.entry(id, at: now)
            guard !entry.isReadOnly, entry.reads.asOf.isNone else { return nil }
            entry.takesLocks = true
            state.set(id, entry)
            return entry.seniority
        }
        guard let seniority else { return nil }
        defer { releaseIfEnded(id) }
        return locks.read(keys, by: id, seniority: seniority, completion)
    }

    /// Releases locks that were taken while a transaction ended.
    private func releaseIfEnded(_ id: TransactionID) {
        if state.withLock({ $0.entries[id] == nil }) { locks.release([id]) }
    }

    /// The reads of a transaction for which a newer commit can take the place of the pinned one.
    ///
    /// Others have not changed what it has locked, and further documents are better read as they
    /// are now. Nil if it holds no locks, or if it would take long to validate its reads.
    func renewableReads(of id: TransactionID) -> ReadSet? {
        guard !locks.hasLost(id) else { return nil }
        return state.withLock { state in
            guard let entry = state.entries[id], entry.takesLocks, entry.readCount == 0,
                entry.snapshot != nil, !entry.reads.version.isNone, entry.reads.isQuicklyVerified
            else { return nil }
            return entry.reads
        }
    }

    /// Pins another commit for a transaction, in which its reads are valid.
    ///
    /// - Returns: the snapshot to end.
    func renew(_ snapshot: PinnedSnapshot, of id: TransactionID) -> PinnedSnapshot? {
        state.withLock { state in
            guard !state.isClosed, var entry = state.entries[id], entry.readCount == 0,
                let former = entry.snapshot
            else { return snapshot }
            entry.snapshot = snapshot
            state.set(id, entry)
            return former
        }
    }

    /// Begins a read in an open transaction and returns its read set and pinned commit.
    ///
    /// Call ``endRead(in:adding:at:now:)`` afterwards.
    ///
    /// - Parameter pin: pins the last commit up to a time, or the newest for none; must not use the
    ///   registry.
    /// - Throws: `invalidArgument` if it is not open; `unavailable` if the registry is closed.
    func beginRead(
        in id: TransactionID, at now: Timestamp,
        pin: (SnapshotVersion) throws(LarderError) -> PinnedSnapshot
    ) throws(LarderError) -> (reads: ReadSet, snapshot: PinnedSnapshot?) {
        try state.withLock { state throws(LarderError) in
            var entry = try state.entry(id, at: now)
            // Under the lock, so that nothing is pinned after the registry is closed.
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

    /// Ends a read in a transaction and extends its read set.
    ///
    /// - Parameter version: the commit that was read; none if the read failed.
    /// - Throws: `invalidArgument` if it is no longer open; `unavailable` if the registry is
    ///   closed.
    func endRead(
        in id: TransactionID, adding reads: ReadSet, at version: SnapshotVersion, now: Timestamp
    ) throws(LarderError) {
        let seniority = try state.withLock { state throws(LarderError) in
            var entry = try state.entry(id, at: now)
            entry.readCount -= 1
            entry.reads.formUnion(reads, at: version)
            state.set(id, entry)
            return entry.takesLocks ? entry.seniority : nil
        }
        guard let seniority else { return }
        locks.hold(reads.lockKeys, by: id, seniority: seniority)
        releaseIfEnded(id)
    }

    /// Ends a transaction; one that writes keeps its locks until they are released.
    ///
    /// - Parameter writes: whether the transaction has changes.
    /// - Returns: the reads to validate; empty without changes, because all reads were of one
    ///   snapshot.
    /// - Throws: `invalidArgument` if it is not open, or is read-only, in which case it stays open;
    ///   `aborted` if it has changes and a read is in progress; `unavailable` if the registry is
    ///   closed.
    func end(_ id: TransactionID, writes: Bool, at now: Timestamp) throws(LarderError) -> ReadSet {
        let entry = try state.withLock { state throws(LarderError) in
            let entry = try state.entry(id, at: now)
            guard !(writes && entry.isReadOnly) else {
                throw .invalidArgument("a read-only transaction cannot write")
            }
            state.set(id, nil)
            return entry
        }
        entry.ownSnapshot?.end()
        if !writes { locks.release([id]) }
        // Concurrent reads would be missing from the validation.
        guard !writes || entry.readCount == 0 else {
            locks.release([id])
            throw LarderError(.aborted, "a read of the transaction is in progress")
        }
        return writes || entry.snapshot == nil ? entry.reads : ReadSet()
    }
}

/// Identifies an open transaction.
package struct TransactionID: Hashable, Sendable {
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// Decodes the bytes sent by a client; nil if they are malformed.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 8 else { return nil }
        number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    package var bytes: [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
