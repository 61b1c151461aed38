package import LarderDocumentStore
package import LarderModel

/// The pending writes of one user, and the local view that they make of the cached documents.
///
/// A document's local view is the cached document with every pending batch that touches it
/// applied in order. The store keeps that view as an overlay, so that reads replay nothing; each
/// call here leaves documents, queue and overlays in agreement, in one commit.
///
/// Every call blocks: for its turn to write and for the disk. Never call on Swift's cooperative
/// threads.
package struct LocalStore: Sendable {
    /// Where documents, queue and overlays lie.
    package let store: Store
    /// Whose queue and local view.
    package let user: UserID
    /// The database that the documents belong to.
    package let databaseID: DatabaseID
    /// Called before each operation, which fails with what it throws.
    package let guarding: Guard?
    /// How other clients of the store hear of what is done; nil when there can be none.
    let journal: Journal?

    /// What is asked before an operation, with its name.
    package typealias Guard = @Sendable (LocalOperation) throws(LarderError) -> Void

    /// The pending writes of a user in a store.
    ///
    /// It holds no state: any number of them may be made for one store.
    package init(store: Store, user: UserID, databaseID: DatabaseID, guarding: Guard? = nil) {
        self.init(
            store: store, user: user, databaseID: databaseID, guarding: guarding, journal: nil)
    }

    /// The pending writes of a user in a store that clients share.
    init(
        store: Store, user: UserID, databaseID: DatabaseID, guarding: Guard?, journal: Journal?
    ) {
        self.store = store
        self.user = user
        self.databaseID = databaseID
        self.guarding = guarding
        self.journal = journal
    }

    /// The same store for another user.
    package func `as`(_ user: UserID) -> LocalStore {
        LocalStore(
            store: store, user: user, databaseID: databaseID, guarding: guarding,
            journal: journal)
    }

    /// Asks whether an operation may begin.
    func begin(_ operation: LocalOperation) throws(LarderError) {
        try guarding?(operation)
    }

    /// Runs a closure that makes changes, and commits them with what it tells other clients.
    ///
    /// - Parameters:
    ///   - isForAll: whether only the client that has the network may do it.
    ///   - body: makes the changes, and describes them to the other clients of a shared store.
    /// - Throws: what the closure and the store throw; ``LarderCore/LarderError/leaseLost``.
    func commit<R>(
        forAll isForAll: Bool = false,
        _ body: (inout WriteTransaction, inout SharedChange?) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        var isShared = false
        let result = try store.write { (transaction) throws(LarderError) in
            if isForAll { try journal?.requireLease(in: transaction) }
            var shared = journal == nil ? nil : SharedChange()
            shared?.user = user
            let result = try body(&transaction, &shared)
            if let journal, let shared { isShared = try journal.append(shared, to: &transaction) }
            return result
        }
        if isShared { journal?.announce() }
        return result
    }
}

extension LocalStore {
    /// The documents that another user sees otherwise than this one, each as seen by this user
    /// and by the other.
    ///
    /// Nothing is written. Linear in the batches of both users.
    package func changes(whenUserBecomes user: UserID) throws(LarderError) -> [LocalViewChange] {
        try begin(.changeUser)
        return try store.read { (transaction) throws(LarderError) in
            var (changes, seen) = ([LocalViewChange](), Set<DocumentPath>())
            // Where no batch touches a document, everybody sees what is cached.
            for owner in [self.user, user] {
                var last: Int64 = 0
                while let batch = try transaction.nextMutationBatch(after: last, of: owner) {
                    last = batch.id
                    for document in batch.documents where seen.insert(document.path).inserted {
                        let before = try transaction.document(
                            at: document.path, asSeenBy: self.user)
                        let after = try transaction.document(at: document.path, asSeenBy: user)
                        guard before != after else { continue }
                        changes.append(
                            LocalViewChange(
                                path: document.path, before: before, after: after,
                                revertsWrites: true))
                    }
                }
            }
            return changes
        }
    }
}

/// What a call of the local store does: names for logs, and for tests that make the disk fail.
///
/// The raw values are those of Firestore's specification tests.
package enum LocalOperation: String, Sendable, Hashable, CaseIterable {
    /// A target is found or made.
    case allocateTarget = "Allocate target"
    /// What a backend has told is taken in.
    case applyRemoteEvent = "Apply remote event"
    /// What is known of a target without listeners is saved.
    case releaseTarget = "Release target"
    /// Writes enter the queue.
    case writeMutations = "Locally write mutations"
    /// Committed batches leave the queue.
    case acknowledgeBatch = "Acknowledge batch"
    /// Refused or cancelled batches leave the queue.
    case rejectBatch = "Reject batch"
    /// Another user's queue takes the place of the present one.
    case changeUser = "Handle user change"
    /// The last snapshot is looked up.
    case readSnapshotVersion = "Get last remote snapshot version"
    /// The documents of a batch are looked up.
    case readBatchDocuments = "Lookup mutation documents"
    /// A target is looked up.
    case readTarget = "Get target data"
    /// What other processes have changed is looked up.
    case readNewChanges = "Get new document changes"
    /// A part of a bundle is taken in.
    case loadBundle = "Load bundle"
    /// The lease of the network is renewed.
    case renewLease = "updateClientMetadataAndTryBecomePrimary"
}
