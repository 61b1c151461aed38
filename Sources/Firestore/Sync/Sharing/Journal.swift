import LarderDocumentStore
import LarderModel

/// How one client tells the others of its store what it does, and hears of what they do.
///
/// Each commit that concerns others adds one entry, in the same transaction: nobody sees a change
/// without its news, or news without the change. An entry's name is the commit's number in 16
/// hexadecimal digits, a colon and the client's id.
struct Journal: Sendable {
    /// The client that speaks.
    let clientID: String
    /// How clients hear that there is something new.
    let signal: any StoreSignal

    /// What a commit of another client tells.
    struct Entry: Sendable {
        /// The commit.
        let commit: UInt64
        /// The client that made it.
        let origin: String
        /// What it tells; nil for what this version cannot read.
        let news: StoreNews?
    }

    /// At most so many entries are kept for clients that have not heard of them.
    static let maxEntries = 20_000

    /// Tells the others of what a transaction does; nothing when there are none.
    ///
    /// - Returns: whether there is something to hear.
    func append(_ news: StoreNews, to transaction: inout WriteTransaction)
        throws(LarderError) -> Bool
    {
        for id in news.forgottenTargets { try transaction.setCurrent(false, target: id) }
        for (id, target) in news.targets {
            try transaction.setCurrent(target.isCurrent && !target.isReset, target: id)
        }
        if let network = news.network { try transaction.put(network, of: clientID) }
        guard !news.isEmpty, try hasOthers(in: transaction) else { return false }
        let name = Self.name(of: transaction.commitNumber) + ":" + clientID
        try transaction.putNamedValue(.journal, name, try news.payload())
        return true
    }

    /// Throws ``LarderCore/LarderError/leaseLost`` unless the client has the network.
    func requireLease<T: ReadableTransaction & ~Copyable>(in transaction: borrowing T)
        throws(LarderError)
    {
        guard try transaction.lease()?.owner == clientID else { throw .leaseLost }
    }

    /// What others did after a commit, in order.
    ///
    /// - Parameter limit: at most how many entries are looked at.
    /// - Returns: the entries, and the last commit that was looked at.
    func entries<T: ReadableTransaction & ~Copyable>(
        after commit: UInt64, limit: Int, in transaction: borrowing T
    ) throws(LarderError) -> (entries: [Entry], last: UInt64) {
        // A semicolon comes after the colon.
        let values = try transaction.namedValues(
            .journal, after: Self.name(of: commit) + ";", limit: limit)
        var entries: [Entry] = []
        var last = commit
        for value in values {
            let parts = value.name.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let number = UInt64(parts[0], radix: 16) else { continue }
            last = min(number, transaction.commitNumber)
            guard number <= transaction.commitNumber, parts[1] != clientID else { continue }
            entries.append(
                Entry(
                    commit: number, origin: String(parts[1]),
                    news: StoreNews(payload: value.payload)))
        }
        return (entries, values.count < limit ? transaction.commitNumber : last)
    }

    /// Whether there are entries of commits that are still to come: a store whose commits are
    /// counted anew, since it was copied, has them of clients that ended without a word.
    func isAhead(of transaction: borrowing WriteTransaction) throws(LarderError) -> Bool {
        let commit = transaction.commitNumber
        if try transaction.journalFloor() > commit { return true }
        return try transaction.namedValueNames(.journal).contains {
            Self.commit(of: $0) > commit
        }
    }

    /// Forgets entries that every client has heard of, and the oldest beyond
    /// ``Journal/maxEntries``.
    func trim(heard: UInt64, in transaction: inout WriteTransaction) throws(LarderError) {
        let names = try transaction.namedValueNames(.journal)
        let surplus = names.count - Self.maxEntries
        var floor: UInt64?
        for (position, name) in names.enumerated() {
            let number = Self.commit(of: name)
            guard number <= heard || position < surplus else { break }
            try transaction.removeNamedValue(.journal, name)
            floor = number
        }
        if let floor { try transaction.setJournalFloor(floor) }
    }

    private func hasOthers<T: ReadableTransaction & ~Copyable>(in transaction: borrowing T)
        throws(LarderError) -> Bool
    {
        try transaction.namedValueNames(.client, limit: 2).contains { $0 != clientID }
    }

    /// The commit that an entry's name begins with; 0 for a name that is none of an entry's.
    private static func commit(of name: String) -> UInt64 {
        UInt64(name.prefix(16), radix: 16) ?? 0
    }

    private static func name(of commit: UInt64) -> String {
        let digits = String(commit, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension LarderError {
    /// Another client has the network: what this one wanted to do for all is not done.
    static let leaseLost = LarderError(
        .failedPrecondition, "another client of the store has the network now")

    /// Whether it is ``leaseLost``.
    var isLeaseLost: Bool { self === Self.leaseLost }
}
