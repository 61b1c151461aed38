import Synchronization

/// The memory that a server holds for its clients, with a limit; any thread may use it.
///
/// Each connection has an account, and below it one for each of its calls. A charge that exceeds
/// the limit relieves the largest account, one account at a time, until the total is within the
/// limit again.
package final class MemoryLedger: Sendable {
    /// The maximum total in bytes.
    package let limit: Int

    private let held = Atomic<Int>(0)
    private let reliefs = Atomic<Int>(0)
    private let accounts = Mutex<[ObjectIdentifier: MemoryAccount]>([:])
    private let isRelieving = Atomic<Bool>(false)

    /// Creates a ledger without accounts.
    package init(limit: Int) {
        self.limit = limit
    }

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

    fileprivate func change(by bytes: Int) {
        let total = held.wrappingAdd(bytes, ordering: .relaxed).newValue
        if total > limit, bytes > 0 { relieve() }
    }

    /// Relieves the largest account, unless one is being relieved.
    private func relieve() {
        guard !isRelieving.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let largest = accounts.withLock { accounts in
            accounts.values.max { $0.heldBytes < $1.heldBytes }
        }
        guard let largest, largest.heldBytes > 0, case .ledger(_, let relieve) = largest.owner
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
    fileprivate let owner: Owner
    private let held = Atomic<Int>(0)

    fileprivate init(_ owner: Owner, _ address: String) {
        self.owner = owner
        self.address = address
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
        if case .ledger(let ledger, _) = owner { ledger.remove(self) }
    }

    private func changeOwner(by bytes: Int) {
        switch owner {
        case .ledger(let ledger, _): ledger.change(by: bytes)
        case .account(let account): account.change(by: bytes)
        }
    }
}
