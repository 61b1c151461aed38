import Synchronization

/// The memory that a server holds for its clients, with a limit; any thread may use it.
///
/// Each connection has an account, and below it one for each of its calls. What several connections
/// wait for together is charged once, to a ``SharedCharge``; an account knows how much of that it
/// keeps.
///
/// A charge that exceeds the limit relieves one account at a time until the total is within the
/// limit again: first of those whose clients take nothing, then of others, last of those that are
/// being answered; among equals the one that holds and keeps the most.
package final class MemoryLedger: Sendable {
    /// The maximum total in bytes.
    package let limit: Int

    private let held = Atomic<Int>(0)
    private let reliefs = Atomic<Int>(0)
    private let accounts = Mutex<[ObjectIdentifier: MemoryAccount]>([:])
    private let isRelieving = Atomic<Bool>(false)
    private let now: @Sendable () -> Duration

    /// Creates a ledger without accounts.
    ///
    /// - Parameter now: the time on a monotonic clock.
    package init(
        limit: Int, now: @escaping @Sendable () -> Duration = { ContinuousClock.now - start }
    ) {
        self.limit = limit
        self.now = now
    }

    private static let start = ContinuousClock.now

    /// The total of all accounts in bytes.
    package var heldBytes: Int { held.load(ordering: .relaxed) }

    /// How often an account was relieved.
    package var reliefCount: Int { reliefs.load(ordering: .relaxed) }

    /// Opens an account; it must be closed.
    ///
    /// - Parameters:
    ///   - address: the address of the client that holds the memory; empty if it has none.
    ///   - relieve: called on any thread if the account is the largest one at the limit; releases
    ///     memory of the account and then calls its argument, now or later.
    package func open(
        for address: String = "",
        _ relieve: @escaping @Sendable (_ completion: @escaping @Sendable () -> Void) -> Void
    ) -> MemoryAccount {
        let account = MemoryAccount(.ledger(self, relieve), address)
        accounts.withLock { $0[ObjectIdentifier(account)] = account }
        return account
    }

    fileprivate func remove(_ account: MemoryAccount) {
        _ = accounts.withLock { $0.removeValue(forKey: ObjectIdentifier(account)) }
    }

    func change(by bytes: Int) {
        let total = held.wrappingAdd(bytes, ordering: .relaxed).newValue
        if total > limit, bytes > 0 { relieve() }
    }

    /// The time on the ledger's clock; above 0.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = now().components
        return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000) + 1
    }

    /// Relieves the account whose turn it is, unless one is being relieved.
    private func relieve() {
        guard !isRelieving.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let time = milliseconds
        let first = accounts.withLock { accounts in
            accounts.values.max { $0.reliefOrder(at: time) < $1.reliefOrder(at: time) }
        }
        guard let first, first.weight > 0, case .ledger(_, let relieve) = first.owner
        else { return isRelieving.store(false, ordering: .releasing) }
        reliefs.add(1, ordering: .relaxed)
        relieve { [self] in
            isRelieving.store(false, ordering: .releasing)
            if heldBytes > limit { self.relieve() }
        }
    }
}

/// The memory of one holder: a connection, or a call of it; any thread may use it.
package final class MemoryAccount: Sendable {
    fileprivate enum Owner: Sendable {
        case ledger(
            MemoryLedger, @Sendable (_ completion: @escaping @Sendable () -> Void) -> Void)
        case account(MemoryAccount)
    }

    /// The value of ``held`` once the account is closed.
    private static let closed = Int.min

    /// The address of the client that holds the memory; empty if it has none.
    package let address: String
    /// The responses of the connection that its client has not taken.
    package let backlog: ResponseBacklog
    fileprivate let owner: Owner
    private let held = Atomic<Int>(0)
    /// The bytes of shared memory that the holder keeps.
    private let kept = Atomic<Int>(0)
    /// Since when the client takes nothing, in milliseconds of the ledger; 0 while it takes what it
    /// is sent.
    private let stallTime = Atomic<Int>(0)
    private let answers = Atomic<Int>(0)

    fileprivate init(_ owner: Owner, _ address: String) {
        self.owner = owner
        self.address = address
        backlog =
            if case .account(let account) = owner { account.backlog } else { ResponseBacklog() }
    }

    deinit {
        close()
    }

    /// Opens an account whose memory is a part of this one's.
    package func open() -> MemoryAccount {
        MemoryAccount(.account(self), address)
    }

    /// The bytes of the account and those below it; 0 once closed.
    package var heldBytes: Int { max(held.load(ordering: .relaxed), 0) }

    /// True if the account, or one above it, is closed.
    package var isClosed: Bool {
        guard held.load(ordering: .relaxed) != Self.closed else { return true }
        return if case .account(let account) = owner { account.isClosed } else { false }
    }

    /// The limit of the ledger in bytes.
    package var limit: Int { ledger.limit }

    /// True if nothing more should be prepared: the ledger has reached its limit, or the connection
    /// holds half of it.
    package var isExhausted: Bool {
        switch owner {
        case .ledger(let ledger, _):
            ledger.heldBytes >= ledger.limit || heldBytes >= ledger.limit / 2
        case .account(let account): account.isExhausted
        }
    }

    /// True if bytes may be charged that relief does not release: less than half of the ledger is
    /// held then, or little by the account.
    package func mayKeep(_ bytes: Int) -> Bool {
        ledger.heldBytes + bytes <= limit / 2 || heldBytes + bytes <= limit / 64
    }

    /// True if the ledger exceeds its limit.
    package var isFull: Bool { ledger.heldBytes > ledger.limit }

    /// True if the account holds a considerable part of the memory while the ledger exceeds its limit
    /// by a quarter: accounts are not relieved fast enough, and the holder should stop by itself.
    package var isOverdrawn: Bool {
        let (limit, total) = (ledger.limit, ledger.heldBytes)
        return total > limit && total - limit > limit / 4 && heldBytes > limit / 64
    }

    private var ledger: MemoryLedger {
        switch owner {
        case .ledger(let ledger, _): ledger
        case .account(let account): account.ledger
        }
    }

    // MARK: Relief

    /// The time after which a client that takes nothing goes first, in milliseconds.
    private static let patience = 1_000

    /// What the holder's end may release.
    fileprivate var weight: Int { heldBytes + kept.load(ordering: .relaxed) }

    /// The order of accounts in which the last is relieved first.
    fileprivate func reliefOrder(at time: Int) -> (Int, Int) {
        let since = stallTime.load(ordering: .relaxed)
        let weight = weight
        let rank =
            if weight == 0 {
                0
            } else if since != 0, time - since >= Self.patience {
                3
            } else {
                answers.load(ordering: .relaxed) > 0 ? 1 : 2
            }
        return (rank, weight)
    }

    /// Notes that the client takes nothing of what it is sent, or takes it again.
    package func setStalled(_ isStalled: Bool) {
        if case .account(let account) = owner { return account.setStalled(isStalled) }
        stallTime.store(isStalled ? ledger.milliseconds : 0, ordering: .relaxed)
    }

    /// Notes that the account can be relieved without loss to any client.
    package func yield() {
        stallTime.store(-Self.patience, ordering: .relaxed)
    }

    /// Notes that an answer has begun, or has ended.
    package func changeAnswers(by count: Int) {
        if case .account(let account) = owner { return account.changeAnswers(by: count) }
        answers.add(count, ordering: .relaxed)
    }

    /// Notes that shared memory is kept, or is not any more.
    package func changeKept(by bytes: Int) {
        guard bytes != 0 else { return }
        kept.add(bytes, ordering: .relaxed)
        if case .account(let account) = owner { account.changeKept(by: bytes) }
    }

    /// Charges memory that others may share, until the result is released.
    package func share(_ bytes: Int) -> SharedCharge { SharedCharge(bytes, to: ledger) }

    /// Opens an account of the same ledger for memory that can be released without loss.
    package func openYielding(_ relieve: @escaping @Sendable () -> Void) -> MemoryAccount {
        let account = ledger.open { completion in
            relieve()
            completion()
        }
        account.yield()
        return account
    }

    /// Charges bytes, or releases charged ones; has no effect once the account is closed.
    package func change(by bytes: Int) {
        guard bytes != 0 else { return }
        var known = held.load(ordering: .relaxed)
        while known != Self.closed {
            let (isExchanged, original) = held.weakCompareExchange(
                expected: known, desired: known + bytes, ordering: .relaxed)
            if isExchanged { return changeOwner(by: bytes) }
            known = original
        }
    }

    /// Releases everything; later changes have no effect.
    package func close() {
        let rest = held.exchange(Self.closed, ordering: .relaxed)
        guard rest != Self.closed else { return }
        changeOwner(by: -rest)
        if case .account(let account) = owner {
            account.changeKept(by: -kept.exchange(0, ordering: .relaxed))
        }
        if case .ledger(let ledger, _) = owner { ledger.remove(self) }
    }

    private func changeOwner(by bytes: Int) {
        switch owner {
        case .ledger(let ledger, _): ledger.change(by: bytes)
        case .account(let account): account.change(by: bytes)
        }
    }
}
