public import LarderCore

/// What a store is to other copies of its data.
///
/// Recorded in the store by what opens it, and asked for by what evicts or overwrites. Stores of
/// earlier versions have no role until then.
public enum StoreRole: String, Hashable, Sendable, CaseIterable {
    /// A client's copy of a backend's data, with the writes that the backend has yet to acknowledge.
    case cache
    /// The data of a database without a backend.
    case local
    /// The documents or trees of a backend.
    case backend
    /// Documents imported from files, which no database has opened with a backend.
    case imported

    /// Whether the data may exist nowhere else.
    public var isOnlyCopy: Bool { self != .cache }

    /// The role as the subject of a sentence, such as "the store of a backend".
    package var text: String {
        switch self {
        case .cache: "a client's cache"
        case .local: "a database without a backend"
        case .backend: "the store of a backend"
        case .imported: "an import, which no client has opened with a backend"
        }
    }

    fileprivate static let valueName = "store.role"

    /// Whether a store of this role may be opened as another one.
    ///
    /// A backend does not see a client's pending writes, and a client would evict a backend's
    /// documents.
    fileprivate func permits(_ role: StoreRole) -> Bool {
        switch (self, role) {
        case (.imported, _), (.cache, .local), (.local, .cache): true
        default: self == role
        }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// What the store is; nil if nothing that opened it has recorded that.
    public func role() throws(LarderError) -> StoreRole? {
        guard let value = try namedValue(.global, StoreRole.valueName) else { return nil }
        return StoreRole(rawValue: String(decoding: value.payload, as: UTF8.self))
    }
}

extension WriteTransaction {
    /// Records what the store is.
    package mutating func putRole(_ role: StoreRole) throws(LarderError) {
        try putNamedValue(.global, StoreRole.valueName, Array(role.rawValue.utf8))
    }
}

extension Store {
    /// Records what the store is from now on, and ends automatic eviction from an only copy.
    ///
    /// Blocks on disk I/O when the role changes. Does nothing to a store that cannot be written.
    ///
    /// - Parameter role: nil for a client without a backend, to which a store is what it was, or a
    ///   cache if it is new.
    /// - Throws: `failedPrecondition` for a backend's store that a client opens, and for a client's
    ///   store that a backend opens.
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
