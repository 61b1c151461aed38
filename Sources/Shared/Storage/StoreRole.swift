public import LarderCore

/// The role of a store: a copy of data that a backend has, or one that may be the only copy.
///
/// A client or a backend that opens the store records it. Whatever evicts or overwrites checks it. A
/// store of an earlier version has none until it is opened.
public enum StoreRole: String, Hashable, Sendable, CaseIterable {
    /// A client's copy of a backend's data, with the writes that the backend has yet to acknowledge.
    case cache
    /// A local database, which has no backend: its commits are final.
    case local
    /// The documents or trees of a backend.
    case backend
    /// Documents imported from files, which no database has opened with a backend.
    case imported

    /// True if the store may be the only copy of its data.
    public var isOnlyCopy: Bool { self != .cache }

    /// The role in a message, after "the store is".
    package var text: String {
        switch self {
        case .cache: "a client's cache"
        case .local: "a local database, which has no backend"
        case .backend: "the store of a backend"
        case .imported: "an import, which no client has opened with a backend"
        }
    }

    fileprivate static let valueName = "store.role"

    /// True if a store of this role can be opened in another one.
    ///
    /// A backend would not see a client's pending writes, and a client would evict a backend's
    /// documents.
    fileprivate func permits(_ role: StoreRole) -> Bool {
        switch (self, role) {
        case (.imported, _), (.cache, .local), (.local, .cache): true
        default: self == role
        }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The role of the store; nil if none is recorded.
    public func role() throws(LarderError) -> StoreRole? {
        guard let value = try namedValue(.global, StoreRole.valueName) else { return nil }
        return StoreRole(rawValue: String(decoding: value.payload, as: UTF8.self))
    }
}

extension WriteTransaction {
    /// Records the role of the store.
    package mutating func putRole(_ role: StoreRole) throws(LarderError) {
        try putNamedValue(.global, StoreRole.valueName, Array(role.rawValue.utf8))
    }
}

extension Store {
    /// Records the role in which the store is opened, and turns off automatic eviction if it may be the
    /// only copy.
    ///
    /// Blocks on disk I/O when the role changes. Does nothing to a store that is open for reading only.
    ///
    /// - Parameters:
    ///   - role: nil for a client without a backend: a new store becomes a cache, another one keeps
    ///     its role.
    ///   - check: called in the same transaction before the role changes; its error leaves the role
    ///     as it is.
    /// - Throws: `failedPrecondition` if a client opens a backend's store, or a backend a client's;
    ///   errors of the closure.
    package func claim(
        _ role: StoreRole?,
        unless check: (borrowing WriteTransaction) throws(LarderError) -> Void = { _ in }
    ) throws(LarderError) {
        guard opening.state != .readOnly else { return }
        let recorded = try read { (transaction) throws(LarderError) in try transaction.role() }
        var new = try self.role(for: role, recorded: recorded)
        if new != recorded {
            new = try write { (transaction) throws(LarderError) in
                // Another process may have changed it since the read.
                let recorded = try transaction.role()
                guard let new = try self.role(for: role, recorded: recorded), new != recorded
                else { return recorded }
                try check(transaction)
                try transaction.putRole(new)
                return new
            }
        }
        if new?.isOnlyCopy == true { try setBudget(.unlimited) }
    }

    /// The role that opening gives the store; nil if it stays unknown.
    private func role(
        for role: StoreRole?, recorded: StoreRole?
    ) throws(LarderError) -> StoreRole? {
        // Of a client without a backend.
        let client =
            recorded == .backend ? .cache : recorded ?? (opening.state == .created ? .cache : nil)
        guard let role = role ?? client else { return nil }
        if let recorded, !recorded.permits(role) {
            throw refusal(
                "is \(recorded.text); it cannot be opened as \(role.text). Use another directory.")
        }
        return role
    }

    /// The error for a client that cannot open the store, or not in the way it wants.
    ///
    /// - Parameter reason: continues "The store 'DIRECTORY'".
    package func refusal(_ reason: String) -> LarderError {
        LarderError(
            .failedPrecondition, "The store\(directory.map { " '\($0)'" } ?? "") \(reason)",
            domain: errorDomain)
    }

    /// The error for a client that would change the role of a store that another client has open.
    package func refusalInUse(
        as role: StoreRole?, toBecome new: StoreRole
    ) -> LarderError {
        refusal(
            "is open in another process, as \(role?.text ?? "a cache"); it cannot become "
                + "\(new == .local ? "a local database" : "a cache") meanwhile.")
    }
}

/// The handling of a local database's data when a client opens it with a backend.
package enum LocalData: Hashable, Sendable {
    /// It is queued for the backend.
    case push
    /// It stays in the store alone.
    case keepLocal
}
