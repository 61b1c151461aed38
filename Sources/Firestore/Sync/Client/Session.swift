import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// The user whose view of a store a client shows.
struct Session: Sendable {
    let localStore: LocalStore
    let runner: QueryRunner

    var user: UserID { localStore.user }
}

/// A query's first result, with the stored state of its target.
struct LoadedQuery: Sendable {
    let changes: View.Update
    let execution: QueryExecution
    let remoteKeys: TreeSet<DocumentPath>
    /// Whether the backend has sent the whole target to another client.
    let isCurrent: Bool
    /// The commit of the result.
    let commit: UInt64
}

extension Session {
    init(_ store: Store, _ configuration: ClientConfiguration, _ journal: SharedJournal?) {
        localStore = LocalStore(
            store: store, user: configuration.user, databaseID: configuration.databaseID,
            guarding: configuration.guarding, journal: journal,
            writeRun: configuration.makeName())
        runner = QueryRunner(
            user: configuration.user, databaseID: configuration.databaseID, indexes: IndexCatalog())
    }

    /// The same store as another user sees it.
    func `as`(_ user: UserID) -> Session {
        Session(localStore: localStore.as(user), runner: runner.as(user))
    }

    /// Runs the query of an empty view, and looks up the documents of its target, on one commit.
    func load(_ view: View, _ targetID: Int32?) throws(LarderError) -> LoadedQuery {
        let (result, target, commit) = try localStore.store.read {
            (transaction) throws(LarderError) in
            let stored = try targetID.flatMap { (id) throws(LarderError) in
                try transaction.target(id)
            }
            let result = try runner.run(view.query, from: stored?.documents, in: transaction)
            let target = try targetID.map { (id) throws(LarderError) in
                try load(id, beside: result.documents, in: transaction)
            }
            return (result, target, transaction.commitNumber)
        }
        let changes = view.computeInitialChanges(result.documents)
        return LoadedQuery(
            changes: changes, execution: result.execution,
            remoteKeys: target.map { $0.keys ?? changes.documents.paths } ?? [],
            isCurrent: target?.isCurrent ?? false, commit: commit)
    }

    /// - Returns: the documents in it, nil if they are those of the result, and whether it is
    ///   current for another client.
    private func load<T: ReadableTransaction & ~Copyable>(
        _ id: Int32, beside result: [Document], in transaction: borrowing T
    ) throws(LarderError) -> (keys: TreeSet<DocumentPath>?, isCurrent: Bool) {
        let isSame = try transaction.hasDocuments(result, inTarget: id)
        return (
            isSame ? nil : try transaction.remoteKeys(of: id),
            localStore.journal != nil ? try transaction.isCurrent(target: id) : false
        )
    }
}

extension Target {
    /// The documents that a query of the target can start with; nil before the target was free of
    /// limbo.
    fileprivate var documents: TargetDocuments? {
        limboFreeVersion.isNone
            ? nil : TargetDocuments(id: id, limboFreeVersion: limboFreeVersion)
    }
}
