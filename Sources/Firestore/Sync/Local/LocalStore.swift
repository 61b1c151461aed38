package import LarderDocumentStore
package import LarderModel

/// The pending writes of a user, and the local view of the cached documents with them.
///
/// A document's local view is the cached document with every pending batch applied in order. The
/// store keeps the view as an overlay, so that reads replay nothing; each call commits a consistent
/// change of documents, queue and overlays.
///
/// Calls block for other writers and the disk. Never call on Swift's cooperative threads.
package struct LocalStore: Sendable {
    package let store: Store
    package let user: UserID
    package let databaseID: DatabaseID
    /// Called before each operation; its error fails the operation.
    package let guarding: Guard?
    /// The journal for other clients of the store; nil if it is not shared.
    let journal: SharedJournal?
    /// The name of the process among those that append to the queue.
    let writeRun: String

    package typealias Guard = @Sendable (LocalOperation) throws(LarderError) -> Void

    /// Stateless: any number may be created for one store.
    package init(store: Store, user: UserID, databaseID: DatabaseID, guarding: Guard? = nil) {
        self.init(
            store: store, user: user, databaseID: databaseID, guarding: guarding, journal: nil,
            writeRun: WriteToken.newName())
    }

    init(
        store: Store, user: UserID, databaseID: DatabaseID, guarding: Guard?,
        journal: SharedJournal?, writeRun: String
    ) {
        self.store = store
        self.user = user
        self.databaseID = databaseID
        self.guarding = guarding
        self.journal = journal
        self.writeRun = writeRun
    }

    /// The same store for another user.
    package func `as`(_ user: UserID) -> LocalStore {
        LocalStore(
            store: store, user: user, databaseID: databaseID, guarding: guarding,
            journal: journal, writeRun: writeRun)
    }

    func begin(_ operation: LocalOperation) throws(LarderError) {
        try guarding?(operation)
    }

    /// Throws ``LarderCore/LarderError/leaseLost`` unless the client has the network of its store.
    func requireLease() throws(LarderError) {
        guard let journal else { return }
        try store.read { (transaction) throws(LarderError) in
            try journal.requireLease(in: transaction)
        }
    }

    /// Commits the changes of a closure, with their description for other clients.
    ///
    /// - Parameters:
    ///   - isForAll: whether only the primary client may make them.
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
    /// The documents that another user sees differently, from this user's view to the other's.
    ///
    /// Nothing is written. Linear in the batches of both users.
    package func changes(whenUserBecomes user: UserID) throws(LarderError) -> [LocalChange] {
        try begin(.changeUser)
        return try store.read { (transaction) throws(LarderError) in
            var (changes, seen) = ([LocalChange](), Set<DocumentPath>())
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
                            LocalChange(
                                path: document.path, before: before, after: after,
                                revertsWrites: true))
                    }
                }
            }
            return changes
        }
    }
}

/// The operations of the local store, for logs and for tests of disk failures.
///
/// The raw values are those of Firestore's specification tests.
package enum LocalOperation: String, Sendable, Hashable, CaseIterable {
    case allocateTarget = "Allocate target"
    case applyRemoteEvent = "Apply remote event"
    case releaseTarget = "Release target"
    case writeMutations = "Locally write mutations"
    case noteWriter = "Note writer"
    case acknowledgeBatch = "Acknowledge batch"
    case rejectBatch = "Reject batch"
    case changeUser = "Handle user change"
    case readSnapshotVersion = "Get last remote snapshot version"
    case readBatchDocuments = "Lookup mutation documents"
    case readTarget = "Get target data"
    case readNewChanges = "Get new document changes"
    case loadBundle = "Load bundle"
    case renewLease = "updateClientMetadataAndTryBecomePrimary"
}
