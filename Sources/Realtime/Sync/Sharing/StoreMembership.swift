import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
import LarderStorage

/// The part of a client in a store that several clients share.
///
/// Clients hold a lock while they live, so the others know who has ended. One of them holds the
/// lock of the cache as well. All methods block on disk I/O.
final class StoreMembership {
    let number: ClientNumber
    /// The largest number of a write that is older than all clients.
    let base: Int64
    private(set) var keepsCache: Bool
    /// The sessions of clients that have ended.
    private(set) var formerSessions: [String]
    private let sharing: StoreSharing
    private let log: ChangeLog
    /// The commits of other clients up to this one are applied.
    private(set) var appliedCommit: UInt64
    private var row: DatabaseClientRow

    /// The most entries that are kept for clients that have not applied them.
    static let maxEntries = 20_000
    /// How many entries are read at a time.
    private static let entriesPerRead = 1_000

    /// Changes committed by other clients.
    enum News {
        /// Their commits, in order.
        case changes([(client: ClientNumber, change: StoreChange)], hasMore: Bool)
        /// Entries are missing: everything is compared with the store.
        case unknown
    }

    /// Enters a client into a store.
    ///
    /// - Parameter isLocal: whether the store is a local database to the client.
    /// - Throws: `resourceExhausted` if there are too many clients; `failedPrecondition` if another
    ///   client has opened the store as something else; an error of the store.
    init(
        _ sharing: StoreSharing, _ store: Store, _ tree: TreeNumber, isLocal: Bool = false
    ) throws(LarderError) {
        let locks = sharing.locks
        var taken: ClientNumber?
        do throws(LarderError) {
            (row, base, formerSessions) = try store.write {
                (transaction) throws(LarderError) -> (DatabaseClientRow, Int64, [String]) in
                guard try (transaction.role() == .local) == isLocal else { throw .openedOtherwise }
                return try Self.join(&transaction, tree, locks, &taken)
            }
        } catch {
            if let taken { locks.release(taken.lock) }
            throw error
        }
        self.sharing = sharing
        number = row.number
        appliedCommit = row.appliedCommit
        log = ChangeLog(.journal, of: String(number.rawValue))
        keepsCache = locks.acquire(ClientNumber.cacheLock)
    }

    /// - Parameter taken: the number whose lock was taken.
    private static func join(
        _ transaction: inout WriteTransaction, _ tree: TreeNumber, _ locks: any ClientLocks,
        _ taken: inout ClientNumber?
    ) throws(LarderError) -> (row: DatabaseClientRow, base: Int64, formerSessions: [String]) {
        var state = try transaction.sharedStoreState()
        var rows = try transaction.clientRows()
        let isAlone = !rows.contains { locks.isHeldByOther($0.number.lock) }
        if isAlone {
            try transaction.removeClientState()
            rows = []
            state.base = try transaction.highestWriteID(in: tree)
            state.floor = transaction.commitNumber
        }
        let used = rows.reduce(into: Set<ClientNumber>()) {
            $0.formUnion($1.served)
            $0.insert($1.number)
        }
        guard let number = takeNumber(after: state.lastClient, except: used, locks) else {
            throw LarderError(realtime: .resourceExhausted, "too many clients share the store")
        }
        taken = number
        state.lastClient = number
        try transaction.put(state)
        let row = DatabaseClientRow(
            number: number, served: isAlone ? [.earlier, number] : [number],
            appliedCommit: transaction.commitNumber)
        try transaction.put(row)
        let sessions = try isAlone ? transaction.takeOverAllSessions(by: number) : ClientSessions()
        return (row, state.base, sessions.former)
    }

    private static func takeNumber(
        after last: ClientNumber, except used: Set<ClientNumber>, _ locks: any ClientLocks
    ) -> ClientNumber? {
        var number = last
        for _ in 0..<ClientNumber.max.rawValue {
            number = number.next
            if !used.contains(number), locks.acquire(number.lock) { return number }
        }
        return nil
    }

    /// The client that sends a write, or has sent it until it ended.
    func owner(of id: WriteID) -> ClientNumber {
        ClientNumber.owner(of: id.rawValue, base: base)
    }

    /// True if the client sends a write.
    func serves(_ id: WriteID) -> Bool { row.served.contains(owner(of: id)) }

    // MARK: Commits

    /// Adds the entry of a commit to the journal, unless there are no other clients.
    ///
    /// - Returns: true if it was added, and is to be announced.
    func append(
        _ change: StoreChange, to transaction: inout WriteTransaction
    ) throws(LarderError) -> Bool {
        guard !change.isEmpty, try transaction.hasClients(beside: number) else { return false }
        try log.append(change.payload, to: &transaction)
        return true
    }

    /// Wakes the other clients.
    func announce() {
        sharing.signal.announce(from: log.clientID)
    }

    /// Calls a closure on the client's executor after commits of others, until the result is
    /// released.
    func listen(
        on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try sharing.signal.listen(as: log.clientID, on: scheduler, body)
    }

    /// The news of other clients that a commit has, since the last call.
    ///
    /// They count as applied once ``applied(_:)`` is called.
    func news<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T
    ) throws(LarderError) -> (news: News, commit: UInt64) {
        if try transaction.sharedStoreState().floor > appliedCommit {
            return (.unknown, transaction.commitNumber)
        }
        let (entries, last) = try log.entries(
            after: appliedCommit, limit: Self.entriesPerRead, in: transaction)
        var changes: [(ClientNumber, StoreChange)] = []
        for entry in entries {
            guard let client = Int64(entry.origin) else { continue }
            guard let change = try? StoreChange(payload: entry.payload) else {
                return (.unknown, transaction.commitNumber)
            }
            changes.append((ClientNumber(client), change))
        }
        return (.changes(changes, hasMore: last < transaction.commitNumber), last)
    }

    /// True if another client of a local database has changed data after the last commit that is
    /// applied.
    func isBehind<T: ReadableTransaction & ~Copyable>(
        _ transaction: borrowing T
    ) throws(LarderError) -> Bool {
        switch try news(in: transaction).news {
        case .unknown: true
        case .changes(let changes, let hasMore):
            hasMore || changes.contains { !$0.change.localPaths.isEmpty }
        }
    }

    /// Commits up to one are applied.
    func applied(_ commit: UInt64) {
        appliedCommit = max(appliedCommit, commit)
    }

    // MARK: Other clients

    /// The other clients that live, and those that have ended without a successor.
    func otherClients(
        in store: Store
    ) throws(LarderError) -> (live: [ClientNumber], ended: [ClientNumber]) {
        let rows = try store.read { (transaction) throws(LarderError) in
            try transaction.clientRows()
        }
        let others = rows.map(\.number).filter { $0 != number }
        return (
            others.filter { sharing.locks.isHeldByOther($0.lock) },
            others.filter { !sharing.locks.isHeldByOther($0.lock) }
        )
    }

    /// Takes the lock of a client that has ended: it commits nothing any more, and no other client
    /// replaces it meanwhile.
    ///
    /// - Returns: false if the client lives, or another one replaces it.
    func beginReplacing(_ client: ClientNumber) -> Bool {
        sharing.locks.acquire(client.lock)
    }

    /// Releases the lock of a client that has ended.
    func endReplacing(_ client: ClientNumber) {
        sharing.locks.release(client.lock)
    }

    /// Takes the place of a client whose lock this one has, and all of whose commits are applied:
    /// those that come later count as this client's own.
    ///
    /// - Returns: the clients whose writes are to be sent from now on; nil if another client has
    ///   replaced it before.
    func replace(
        _ client: ClientNumber, in store: Store
    ) throws(LarderError) -> Set<ClientNumber>? {
        let (own, log) = (row, log)
        let replaced = try store.write {
            (transaction) throws(LarderError) -> (row: DatabaseClientRow, sessions: [String])? in
            guard let ended = try transaction.clientRows().first(where: { $0.number == client })
            else { return nil }
            try transaction.removeClientRow(client)
            try transaction.removeListens(of: client)
            var row = own
            row.served.formUnion(ended.served)
            try transaction.put(row)
            var change = StoreChange()
            change.endedClients = [client.rawValue]
            if try transaction.hasClients(beside: own.number) {
                try log.append(change.payload, to: &transaction)
            }
            let sessions = try transaction.takeOverSessions(of: client, by: own.number)
            return (ended, sessions.former)
        }
        guard let replaced else { return nil }
        row.served.formUnion(replaced.row.served)
        formerSessions = replaced.sessions
        announce()
        return replaced.row.served
    }

    /// Takes the lock of the cache, if it is free.
    ///
    /// - Returns: true if the client did not have it before.
    func takeCache() -> Bool {
        guard !keepsCache, sharing.locks.acquire(ClientNumber.cacheLock) else { return false }
        keepsCache = true
        return true
    }

    /// Tells the others how far this client is, and removes entries that all have applied and the
    /// oldest beyond ``maxEntries``; writes nothing without entries.
    func report(in store: Store) throws(LarderError) {
        var own = row
        own.appliedCommit = appliedCommit
        let (applied, log) = (row.appliedCommit, log)
        let (isBehind, surplus) = try store.read {
            (transaction) throws(LarderError) -> (Bool, UInt64?) in
            (
                try log.firstCommit(after: applied, in: transaction) != nil,
                try surplusCommit(in: transaction)
            )
        }
        guard isBehind && own != row || surplus != nil else { return }
        try store.write { (transaction) throws(LarderError) in
            try transaction.put(own)
            guard let surplus else { return }
            let floor = try log.trim(
                applied: surplus, maxEntries: Self.maxEntries, in: &transaction)
            guard let floor else { return }
            var state = try transaction.sharedStoreState()
            state.floor = max(state.floor, floor)
            try transaction.put(state)
        }
        row = own
    }

    /// The commit up to which all clients have applied entries, if some of those or too many are
    /// there; otherwise nil.
    private func surplusCommit<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T
    ) throws(LarderError) -> UInt64? {
        guard let first = try log.firstCommit(after: 0, in: transaction) else { return nil }
        let common = try commonCommit(in: transaction)
        if first <= common { return common }
        // A client that is suspended applies nothing.
        let names = try transaction.namedValueNames(log.kind, limit: Self.maxEntries + 1)
        return names.count > Self.maxEntries ? common : nil
    }

    /// The commit up to which all clients that live have applied entries.
    private func commonCommit<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T
    ) throws(LarderError) -> UInt64 {
        let others = try transaction.clientRows().filter {
            $0.number != number && sharing.locks.isHeldByOther($0.number.lock)
        }
        return min(appliedCommit, others.map(\.appliedCommit).min() ?? appliedCommit)
    }

    /// Leaves the store: another client takes this one's place, now or when one comes.
    func leave() {
        if keepsCache { sharing.locks.release(ClientNumber.cacheLock) }
        sharing.locks.release(number.lock)
        announce()
    }
}

extension LarderError {
    /// Another client of a local database has changed data in the meantime.
    static let behind = LarderError(
        realtime: .aborted, "another process has changed the data in the meantime")

    fileprivate static var openedOtherwise: LarderError {
        LarderError(
            realtime: .failedPrecondition,
            "The store was opened meanwhile by another process, of which only one takes it for a "
                + "local database; all processes that share it must open it alike.")
    }
}
