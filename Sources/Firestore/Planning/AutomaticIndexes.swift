package import LarderDocumentStore
package import LarderModel
import Synchronization

/// Whether indexes are made by themselves for queries that scan much and find little.
///
/// Off at first. It can be switched on until the store is closed, as the client SDKs have it, or
/// for good. Any thread may use it.
package final class AutomaticIndexes: Sendable {
    /// A scan of fewer documents is quick without an index.
    package static let minDocumentsScanned = 100
    /// So many documents scanned for one that was found make an index worth while: with an
    /// index, finding a document costs about as much as passing over so many in a scan.
    package static let minScannedPerResult = 3.4

    private static let name = "automaticIndexes"

    private let store: Store
    private let enabled: Mutex<Bool>

    /// The switch of a store, as it was left for good.
    package init(store: Store) throws(LarderError) {
        self.store = store
        let value = try store.read { transaction throws(LarderError) in
            try transaction.namedValue(.global, Self.name)
        }
        enabled = Mutex(value != nil)
    }

    /// Whether indexes are made by themselves now.
    package var isEnabled: Bool { enabled.withLock { $0 } }

    /// Switches on.
    ///
    /// - Parameter persistently: also for later starts; this blocks for a write.
    package func enable(persistently: Bool = false) throws(LarderError) {
        if persistently {
            try store.write { transaction throws(LarderError) in
                try transaction.putNamedValue(.global, Self.name, [1])
            }
        }
        enabled.withLock { $0 = true }
    }

    /// Switches off, also for later starts; the indexes stay.
    ///
    /// Blocks for a write where it was switched on for good.
    package func disable() throws(LarderError) {
        enabled.withLock { $0 = false }
        let isPersistent = try store.read { transaction throws(LarderError) in
            try transaction.namedValue(.global, Self.name) != nil
        }
        guard isPersistent else { return }
        try store.write { transaction throws(LarderError) in
            _ = try transaction.removeNamedValue(.global, Self.name)
        }
    }
}
