import LarderModel
import LarderSync
import Logging

/// Says whether queries that scan make indexes by themselves.
///
/// The calls return at once; what goes wrong is logged.
public final class PersistentCacheIndexManager: Sendable {
    private let firestore: Firestore

    init(_ firestore: Firestore) {
        self.firestore = firestore
    }

    /// Has queries that scan much and find little make indexes for the next ones, until the
    /// database is terminated or the program ends; the indexes stay.
    public func enableIndexAutoCreation() {
        enableIndexAutoCreation(acrossStarts: false)
    }

    /// Has queries that scan much and find little make indexes for the next ones, with
    /// `acrossStarts` also after the next start, until ``disableIndexAutoCreation()``.
    public func enableIndexAutoCreation(acrossStarts: Bool) {
        firestore.withClient(logged("enableIndexAutoCreation")) {
            $0.enableAutomaticIndexes(persistently: acrossStarts, completion: $1)
        }
    }

    /// Has no more indexes made, nor after the next start; those there are stay and are used.
    public func disableIndexAutoCreation() {
        firestore.withClient(logged("disableIndexAutoCreation")) {
            $0.disableAutomaticIndexes(completion: $1)
        }
    }

    /// Removes every index, those that were configured, too.
    public func deleteAllIndexes() {
        firestore.withClient(logged("deleteAllIndexes")) { $0.deleteAllIndexes(completion: $1) }
    }

    private func logged(_ name: String) -> Completion<Void> {
        let logger = firestore.logger
        return { result in
            if case .failure(let error) = result { logger.error("\(name): \(error.message)") }
        }
    }
}
