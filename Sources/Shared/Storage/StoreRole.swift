public import LarderCore

/// The role of a store: a copy of data that a backend has, or one that may be the only copy.
///
/// A client or a backend that opens the store records it. Whatever evicts or overwrites checks it. A
/// store of an earlier version has none until it is opened.
public enum StoreRole: String, Hashable, Sendable, CaseIterable {
    /// A client's copy of a backend's data, with the writes that the backend has yet to acknowledge.
    case cache
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
        case .backend: "the store of a backend"
        case .imported: "an import, which no client has opened with a backend"
        }
    }

    fileprivate static let valueName = "store.role"

    /// True if a store of this role can be opened in another one.
    ///
    /// A backend would not see a client's pending writes, and a client would evict a backend's
    /// documents.
    fileprivate func permits(_ role: StoreRole) -> Bool { self == .imported || self == role }
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
    /// - Parameter role: nil for a client without a backend: a new store becomes a cache, another
    ///   one keeps its role.
    /// - Throws: `failedPrecondition` if a client opens a backend's store, or a backend a client's.
    package func claim(_ role: StoreRole?) throws(LarderError) {
        guard opening.state != .readOnly else { return }
        let recorded = try read { (transaction) throws(LarderError) in try transaction.role() }
        // Of a client without a backend.
        let client =
            recorded == .backend ? .cache : recorded ?? (opening.state == .created ? .cache : nil)
        guard let role = role ?? client else { return }
        if let recorded, !recorded.permits(role) {
            throw LarderError(
                .failedPrecondition,
                "The store\(directory.map { " '\($0)'" } ?? "") is \(recorded.text); it cannot be "
                    + "opened as \(role.text). Use another directory.", domain: errorDomain)
        }
        if role != recorded {
            try write { transaction throws(LarderError) in try transaction.putRole(role) }
        }
        if role.isOnlyCopy { try setBudget(.unlimited) }
    }
}
