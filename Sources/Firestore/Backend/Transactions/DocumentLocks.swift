import LarderModel
import LarderQuery

/// What can be locked: a document, or the results of a query.
enum LockKey: Hashable, Sendable {
    case document(DocumentPath)
    /// The canonical ID of a query.
    case query(String)

    init(_ query: Query) {
        self = .query(query.canonicalID)
    }
}

/// The locks of open transactions, and the reads and commits that wait for them.
///
/// A transaction holds a shared lock on what it has read. A commit waits until no other transaction
/// holds what it writes. Where transactions conflict, a key becomes contended for some time: reads
/// of further transactions then wait in line until the one before them has ended, because each of
/// them would most likely write what it reads, and only one could succeed.
///
/// ```
/// read:   waits for a contended key that it does not hold, if another holds it or waits for it
/// commit: waits if another holds the key, or if it does not hold it and somebody waits for it
/// ```
///
/// Locks only prevent conflicts; a commit is correct because its reads are validated. So they may be
/// taken away: from a transaction that has let others wait for ``patience`` without waiting itself,
/// from one whose client has left, and from the youngest one in a deadlock. That one may still
/// read, but not commit: clients repeat a transaction only if its commit is refused.
struct DocumentLocks {
    /// Identifies a wait; earlier waits have smaller numbers.
    typealias WaitID = UInt64

    /// The outcome of a wait.
    struct Decision: Equatable {
        let wait: WaitID
        /// True if the request may proceed; false if it is refused.
        ///
        /// A read that may proceed holds its locks. A commit is to be followed by ``end(_:)``.
        let isGranted: Bool
    }

    /// The number of ticks that a transaction may let others wait.
    static let patience = 20
    /// The number of ticks for which a key remains contended after the last conflict.
    static let contention = 40
    /// The maximum number of contended keys; further ones are treated as uncontended.
    static let maxContended = 10_000
    /// The maximum number of waits; further ones are refused.
    static let maxWaits = 20_000

    private struct Lock {
        var holders: Set<TransactionID> = []
        /// The waits for the key, in order.
        var line: [WaitID] = []
        /// The tick at which the key is no longer contended.
        var contendedUntil = 0

        /// The position in the line, which is sorted; nil if the wait is not in it.
        func position(of id: WaitID) -> Int? {
            var range = line.indices
            while let last = range.last, last > range.lowerBound {
                let middle = range.lowerBound + range.count / 2
                range = line[middle] <= id ? middle..<range.upperBound : range.lowerBound..<middle
            }
            return range.first.flatMap { line[$0] == id ? $0 : nil }
        }

        mutating func remove(_ id: WaitID) {
            if let position = position(of: id) { line.remove(at: position) }
        }
    }

    private struct Wait {
        let keys: [LockKey]
        let owner: TransactionID?
        let isCommit: Bool
        let begun: Int
        /// True for a commit that was granted, until ``end(_:)``.
        var isReady = false
    }

    private struct Owner {
        /// The number of the transaction's first attempt: the smaller, the older.
        let seniority: UInt64
        var keys: Set<LockKey> = []
        var waits: Set<WaitID> = []
        /// True once its locks were taken away.
        var hasLost = false
        /// True if that was because of a deadlock: its commit is refused.
        var isVictim = false
    }

    private var locks: [LockKey: Lock] = [:]
    private var owners: [TransactionID: Owner] = [:]
    private var waits: [WaitID: Wait] = [:]
    private var contended: Set<LockKey> = []
    /// The transactions that let others wait, with the tick since which they do.
    private var blocking: [TransactionID: Int] = [:]
    private var now = 0
    private var lastID: WaitID = 0
    private var decisions: [Decision] = []

    /// True if there are no locks, no waits and no contended keys.
    var isIdle: Bool { owners.isEmpty && waits.isEmpty && contended.isEmpty }
    /// True if ``tick(_:)`` is to be called.
    var needsTicks: Bool { !waits.isEmpty || !contended.isEmpty }

    /// Returns the outcomes of waits since the last call, in order.
    mutating func takeDecisions() -> [Decision] {
        defer { decisions = [] }
        return decisions
    }

    /// Whether a transaction has lost its locks.
    func hasLost(_ id: TransactionID) -> Bool { owners[id]?.hasLost ?? false }

    // MARK: Requests

    /// Requests locks for a read.
    ///
    /// - Returns: nil if they are held; otherwise the wait, whose decision follows.
    mutating func read(_ keys: [LockKey], by id: TransactionID, seniority: UInt64) -> WaitID? {
        let isBlocked =
            owners[id]?.isVictim != true
            && keys.contains { self.isBlocked(id, isCommit: false, $0, before: .max) }
        guard isBlocked else {
            hold(keys, by: id, seniority: seniority)
            return nil
        }
        for key in keys where contended.contains(key) { noteConflict(key) }
        owners[id, default: Owner(seniority: seniority)].waits.insert(lastID + 1)
        return wait(Wait(keys: keys, owner: id, isCommit: false, begun: now))
    }

    /// Takes locks for what has been read, without waiting.
    mutating func hold(_ keys: some Sequence<LockKey>, by id: TransactionID, seniority: UInt64) {
        var owner = owners.removeValue(forKey: id) ?? Owner(seniority: seniority)
        defer { owners[id] = owner }
        guard !owner.hasLost else { return }
        for key in keys where owner.keys.insert(key).inserted {
            locks[key, default: Lock()].holders.insert(id)
        }
    }

    /// Requests the right to commit.
    ///
    /// - Parameter id: the transaction; nil outside of one.
    /// - Returns: nil if the commit may proceed; otherwise the wait, whose decision follows.
    mutating func commit(_ keys: [LockKey], by id: TransactionID?) -> WaitID? {
        let blocked = keys.filter { isBlocked(id, isCommit: true, $0, before: .max) }
        let owner = id.flatMap { owners[$0] }
        if let owner, owner.isVictim || owner.hasLost && !blocked.isEmpty {
            // Would most likely wait in vain.
            lastID += 1
            decisions.append(Decision(wait: lastID, isGranted: false))
            return lastID
        }
        guard !blocked.isEmpty else { return nil }
        if let id, let owner {
            for key in blocked where owner.keys.contains(key) { noteConflict(of: id, over: key) }
            owners[id]?.waits.insert(lastID + 1)
        }
        return wait(Wait(keys: keys, owner: id, isCommit: true, begun: now))
    }

    /// Removes a wait: that of a granted commit, which is in progress now, or of any other request
    /// that no longer waits.
    mutating func end(_ id: WaitID) {
        guard let wait = remove(id) else { return }
        decide(for: wait.keys)
    }

    /// Releases the locks of a transaction that has ended.
    mutating func release(_ id: TransactionID) {
        guard let owner = owners.removeValue(forKey: id) else { return }
        for wait in owner.waits.sorted() { refuse(wait) }
        release(owner.keys, of: id)
    }

    /// Makes a key contended, after a conflict between transactions.
    mutating func noteConflict(_ key: LockKey) {
        guard contended.count < Self.maxContended || contended.contains(key) else { return }
        contended.insert(key)
        locks[key, default: Lock()].contendedUntil = now + Self.contention
    }

    /// Counts a tick, and takes locks from transactions that let others wait for too long.
    ///
    /// - Parameter hasLeft: whether the client of a transaction has left.
    mutating func tick(_ hasLeft: (TransactionID) -> Bool) {
        now += 1
        var blocking: [TransactionID: Int] = [:]
        for wait in waits.values where !wait.isReady {
            for holder in wait.keys.flatMap({ holders(blocking: wait, on: $0) })
            where owners[holder]?.waits.isEmpty == true {
                blocking[holder] = self.blocking[holder] ?? now - 1
            }
            // Otherwise further reads could follow each other without an end.
            if wait.isCommit, wait.begun + Self.patience / 2 <= now {
                for key in wait.keys { noteConflict(key) }
            }
        }
        self.blocking = blocking
        for (id, since) in blocking.sorted(by: { $0.key.number < $1.key.number })
        where since + Self.patience <= now || hasLeft(id) {
            takeLocks(of: id)
        }
        for key in contended where (locks[key]?.contendedUntil ?? 0) <= now {
            contended.remove(key)
            decide(for: [key])
            forget(key)
        }
    }

    // MARK: Waiting

    private func isContended(_ lock: Lock) -> Bool { lock.contendedUntil > now }

    /// Whether a request for a key has to wait.
    ///
    /// - Parameter position: its wait; the largest number for a new request.
    private func isBlocked(
        _ owner: TransactionID?, isCommit: Bool, _ key: LockKey, before position: WaitID
    ) -> Bool {
        guard let lock = locks[key] else { return false }
        let isHolder = owner.map(lock.holders.contains) ?? false
        let others = lock.holders.count - (isHolder ? 1 : 0)
        if isCommit, others > 0 { return true }
        if isHolder || !isCommit && !isContended(lock) { return false }
        // Those that are granted commit before a later wait, but not before a new request.
        let passesGranted = isCommit && position != .max
        let first = lock.line.first { !passesGranted || waits[$0]?.isReady == false }
        if let first, first < position { return true }
        return !isCommit && others > 0
    }

    /// The transactions whose locks on a key a wait is for.
    private func holders(blocking wait: Wait, on key: LockKey) -> [TransactionID] {
        guard let lock = locks[key] else { return [] }
        let isHolder = wait.owner.map(lock.holders.contains) ?? false
        guard wait.isCommit || isContended(lock) && !isHolder else { return [] }
        return lock.holders.filter { $0 != wait.owner }
    }

    private mutating func wait(_ wait: Wait) -> WaitID {
        lastID += 1
        let id = lastID
        waits[id] = wait
        for key in wait.keys { locks[key, default: Lock()].line.append(id) }
        if waits.count > Self.maxWaits {
            refuse(id)
        } else if let owner = wait.owner {
            resolveDeadlocks(of: id, owner)
        }
        return id
    }

    private mutating func remove(_ id: WaitID) -> Wait? {
        guard let wait = waits.removeValue(forKey: id) else { return nil }
        for key in wait.keys {
            locks[key]?.remove(id)
            forget(key)
        }
        if let owner = wait.owner {
            owners[owner]?.waits.remove(id)
            if let entry = owners[owner], entry.keys.isEmpty, entry.waits.isEmpty, !entry.hasLost {
                owners[owner] = nil
            }
        }
        return wait
    }

    private mutating func refuse(_ id: WaitID) {
        guard let wait = remove(id) else { return }
        decisions.append(Decision(wait: id, isGranted: false))
        decide(for: wait.keys)
    }

    /// Takes all locks from a transaction, for good: others may change what it read.
    private mutating func takeLocks(of id: TransactionID) {
        guard let keys = owners[id]?.keys else { return }
        owners[id]?.keys = []
        owners[id]?.hasLost = true
        release(keys, of: id)
    }

    private mutating func release(_ keys: Set<LockKey>, of id: TransactionID) {
        for key in keys { locks[key]?.holders.remove(id) }
        decide(for: Array(keys))
        for key in keys { forget(key) }
    }

    /// Removes the entry of a key that nobody holds, waits for or has conflicts over.
    private mutating func forget(_ key: LockKey) {
        guard let lock = locks[key], lock.holders.isEmpty, lock.line.isEmpty,
            !contended.contains(key)
        else { return }
        locks[key] = nil
    }

    /// Grants waits for keys that may have become available.
    private mutating func decide(for keys: [LockKey]) {
        var keys = keys
        while let key = keys.popLast() {
            guard let lock = locks[key], !lock.line.isEmpty else { continue }
            // Behind the first wait that is blocked, only commits of holders can proceed.
            var candidates = lock.holders.flatMap { holder in
                (owners[holder]?.waits ?? []).filter { waits[$0]?.keys.contains(key) ?? false }
            }
            if let first = lock.line.first(where: { waits[$0]?.isReady == false }) {
                candidates.append(first)
            }
            let granted = candidates.filter { grant($0) }
            if !granted.isEmpty { keys.append(key) }
        }
    }

    /// Grants a wait unless it is blocked.
    private mutating func grant(_ id: WaitID) -> Bool {
        guard let wait = waits[id], !wait.isReady,
            !wait.keys.contains(where: {
                isBlocked(wait.owner, isCommit: wait.isCommit, $0, before: id)
            })
        else { return false }
        decisions.append(Decision(wait: id, isGranted: true))
        if wait.isCommit {
            waits[id]?.isReady = true
        } else if let owner = wait.owner {
            let seniority = owners[owner]?.seniority ?? owner.number
            hold(wait.keys, by: owner, seniority: seniority)
            _ = remove(id)
        }
        return true
    }

    // MARK: Conflicts

    /// Makes a key contended that two transactions have read and one of them writes, with the
    /// queries that both have run.
    private mutating func noteConflict(of id: TransactionID, over key: LockKey) {
        noteConflict(key)
        for other in locks[key]?.holders ?? [] where other != id {
            let (own, others) = (owners[id]?.keys ?? [], owners[other]?.keys ?? [])
            for case .query(let query) in own where others.contains(.query(query)) {
                noteConflict(.query(query))
            }
        }
    }

    /// Refuses the youngest transaction of each cycle that a new wait closes.
    private mutating func resolveDeadlocks(of id: WaitID, _ owner: TransactionID) {
        // Nobody waits for a transaction without locks.
        while waits[id] != nil, let keys = owners[owner]?.keys,
            keys.contains(where: { locks[$0]?.line.isEmpty == false }), let cycle = cycle(from: id)
        {
            let members = cycle.compactMap { wait in waits[wait]?.owner.map { (wait, $0) } }
            let youngest = members.max { left, right in
                age(of: left.1) < age(of: right.1)
            }
            guard let (wait, victim) = youngest, let request = waits[wait] else { return }
            for key in request.keys { noteConflict(key) }
            owners[victim]?.isVictim = true
            takeLocks(of: victim)
            if request.isCommit {
                refuse(wait)
            } else if remove(wait) != nil {
                decisions.append(Decision(wait: wait, isGranted: true))
                decide(for: request.keys)
            }
        }
    }

    private func age(of id: TransactionID) -> (UInt64, UInt64) {
        (owners[id]?.seniority ?? id.number, id.number)
    }

    /// The waits of a cycle that goes through a wait; nil if there is none.
    private func cycle(from start: WaitID) -> [WaitID]? {
        var from: [WaitID: WaitID] = [:]
        var open = [start]
        while let id = open.popLast() {
            for next in waitsAhead(of: id) {
                if next == start {
                    return Array(sequence(first: id) { $0 == start ? nil : from[$0] })
                }
                guard from[next] == nil else { continue }
                from[next] = id
                open.append(next)
            }
        }
        return nil
    }

    /// The waits that must end before one can be granted.
    private func waitsAhead(of id: WaitID) -> [WaitID] {
        guard let wait = waits[id], !wait.isReady else { return [] }
        return wait.keys.flatMap { key -> [WaitID] in
            var ahead = holders(blocking: wait, on: key).flatMap { owners[$0]?.waits ?? [] }
            if let lock = locks[key], wait.owner.map(lock.holders.contains) != true,
                let position = lock.position(of: id), position > 0
            {
                ahead.append(lock.line[position - 1])
            }
            return ahead
        }
    }
}
