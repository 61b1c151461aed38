import LarderDocumentStore
import LarderModel

/// The changes that a client shares with the other clients of its store, and those they share with
/// it.
struct SharedJournal: Sendable {
    /// The entries, whose payloads are ``SharedChange``.
    let log: ChangeLog
    /// Wakes the other clients.
    let signal: any StoreSignal

    init(clientID: String, signal: any StoreSignal) {
        log = ChangeLog(.journal, of: clientID)
        self.signal = signal
    }

    /// The client whose changes are shared.
    var clientID: String { log.clientID }

    /// The maximum number of entries that are kept for clients that have not applied them.
    static let maxEntries = 20_000

    /// Shares what a transaction does, if there are other clients.
    ///
    /// - Returns: whether there is something to apply.
    func append(_ change: SharedChange, to transaction: inout WriteTransaction)
        throws(LarderError) -> Bool
    {
        for id in change.forgottenTargets { try transaction.setCurrent(false, target: id) }
        for (id, target) in change.targets {
            try transaction.setCurrent(target.isCurrent && !target.isReset, target: id)
        }
        if let network = change.network { try transaction.put(network, of: clientID) }
        guard !change.isEmpty, try hasOthers(in: transaction) else { return false }
        try log.append(try change.payload(), to: &transaction)
        return true
    }

    /// Throws ``LarderCore/LarderError/leaseLost`` unless the client has the network.
    func requireLease<T: ReadableTransaction & ~Copyable>(in transaction: borrowing T)
        throws(LarderError)
    {
        guard try transaction.lease()?.owner == clientID else { throw .leaseLost }
    }

    /// Whether there are entries, or a floor, of future commits.
    func isAhead(of transaction: borrowing WriteTransaction) throws(LarderError) -> Bool {
        if try transaction.journalFloor() > transaction.commitNumber { return true }
        return try log.isAhead(of: transaction)
    }

    /// Removes entries that every client has applied, and the oldest beyond
    /// ``SharedJournal/maxEntries``.
    func trim(applied: UInt64, in transaction: inout WriteTransaction) throws(LarderError) {
        let floor = try log.trim(
            applied: applied, maxEntries: Self.maxEntries, in: &transaction)
        if let floor { try transaction.setJournalFloor(floor) }
    }

    private func hasOthers<T: ReadableTransaction & ~Copyable>(in transaction: borrowing T)
        throws(LarderError) -> Bool
    {
        try transaction.namedValueNames(.client, limit: 2).contains { $0 != clientID }
    }
}

extension LarderError {
    /// Another client has the network: work for all clients was not done.
    static let leaseLost = LarderError(
        .failedPrecondition, "another client of the store has the network now")

    /// Whether it is ``leaseLost``.
    var isLeaseLost: Bool { self === Self.leaseLost }
}
