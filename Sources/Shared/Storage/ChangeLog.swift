package import LarderCore

/// The changes of one client's commits for the other clients, until all have applied them.
///
/// An entry is added in the transaction of its commit, so that no client sees a change without its
/// entry, or an entry without the change. Its name is the commit's number in 16 hexadecimal digits,
/// a colon and the client's id; its payload is the database's own.
package struct ChangeLog: Sendable {
    /// A commit of another client.
    package struct Entry: Sendable {
        /// The commit's number.
        package let commit: UInt64
        /// The client that made it.
        package let origin: String
        package let payload: [UInt8]
    }

    /// The kind of the entries' names.
    package let kind: NamedValue.Kind
    /// The client whose commits are added.
    package let clientID: String

    package init(_ kind: NamedValue.Kind, of clientID: String) {
        self.kind = kind
        self.clientID = clientID
    }

    /// Adds the entry of a transaction.
    package func append(
        _ payload: [UInt8], to transaction: inout WriteTransaction
    ) throws(LarderError) {
        let name = Self.name(of: transaction.commitNumber) + ":" + clientID
        try transaction.putNamedValue(kind, name, payload)
    }

    /// The commits of other clients after a commit, in order.
    ///
    /// - Parameter limit: the maximum number of entries that are read.
    /// - Returns: the entries, and the last commit that was looked at.
    package func entries<T: ReadableTransaction & ~Copyable>(
        after commit: UInt64, limit: Int, in transaction: borrowing T
    ) throws(LarderError) -> (entries: [Entry], last: UInt64) {
        // A semicolon sorts after the colon.
        let values = try transaction.namedValues(
            kind, after: Self.name(of: commit) + ";", limit: limit)
        var entries: [Entry] = []
        var last = commit
        for value in values {
            let parts = value.name.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let number = UInt64(parts[0], radix: 16) else { continue }
            last = min(number, transaction.commitNumber)
            guard number <= transaction.commitNumber, parts[1] != clientID else { continue }
            entries.append(
                Entry(commit: number, origin: String(parts[1]), payload: value.payload))
        }
        return (entries, values.count < limit ? transaction.commitNumber : last)
    }

    /// The first commit after another that has an entry, of whichever client; nil for none.
    package func firstCommit<T: ReadableTransaction & ~Copyable>(
        after commit: UInt64, in transaction: borrowing T
    ) throws(LarderError) -> UInt64? {
        try transaction.namedValues(kind, after: Self.name(of: commit) + ";", limit: 1)
            .first.map { Self.commit(of: $0.name) }
    }

    /// Whether there are entries of future commits.
    ///
    /// A copied store counts its commits from the start, and keeps entries of clients that ended
    /// without removing them.
    package func isAhead(of transaction: borrowing WriteTransaction) throws(LarderError) -> Bool {
        let commit = transaction.commitNumber
        return try transaction.namedValueNames(kind).contains { Self.commit(of: $0) > commit }
    }

    /// Removes entries that every client has applied, and the oldest beyond a maximum.
    ///
    /// - Returns: the last commit whose entry was removed; nil for none.
    package func trim(
        applied: UInt64, maxEntries: Int, in transaction: inout WriteTransaction
    ) throws(LarderError) -> UInt64? {
        let names = try transaction.namedValueNames(kind)
        let surplus = names.count - maxEntries
        var last: UInt64?
        for (position, name) in names.enumerated() {
            let number = Self.commit(of: name)
            guard number <= applied || position < surplus else { break }
            try transaction.removeNamedValue(kind, name)
            last = number
        }
        return last
    }

    /// The commit in an entry's name; 0 for other names.
    private static func commit(of name: String) -> UInt64 {
        UInt64(name.prefix(16), radix: 16) ?? 0
    }

    private static func name(of commit: UInt64) -> String {
        let digits = String(commit, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
