import LarderModel
import LarderQuery
import LarderRemote
import LarderSync

/// What a step does.
enum SpecAction: Sendable {
    /// A listener is added to a query, with metadata changes unless the suite says otherwise.
    case listen(Query, ListenOptions, targetID: Int32)
    case unlisten(Query)
    case write([Mutation])
    case addSnapshotsInSyncListener
    /// Removes the one that was added last.
    case removeSnapshotsInSyncListener
    case waitForPendingWrites
    case loadBundle(String)
    case configureIndexes(json: String)

    /// The backend says something on the watch stream.
    case watch([WatchResponse])
    case closeWatchStream(LarderError, runsBackoff: Bool)
    /// The oldest write is committed; `keepsWrite` where the client is not to take notice.
    case acknowledgeWrite(SnapshotVersion, keepsWrite: Bool)
    case failWrite(LarderError, keepsWrite: Bool)
    /// Which of the listens to one target the backend answers, in a client that numbers them again.
    case answerListen

    /// What waits runs at once, up to and with the first timer of the name.
    case runTimer(String)
    case drainQueue
    case enableNetwork(Bool)
    case changeUser(String)
    case restart
    case shutdown
    case clearPersistence
    case setVisible(Bool)
    case becomePrimary
    case collectGarbage(thresholdBytes: Int64)
    /// Transactions of these names fail from now on.
    case failDatabase(Set<String>)
}

extension SpecAction {
    /// Reads the action of a step, the one member that is neither an expectation nor the client.
    init(from step: inout SpecObject) throws {
        var found: SpecAction?
        for (name, read) in Self.readers {
            guard let payload = step.takeIfPresent(name) else { continue }
            guard found == nil else { throw payload.failure("a step with two actions") }
            found = try read(payload)
        }
        guard let found else {
            throw SpecVocabularyError(message: "no action known among \(step.rest)")
        }
        self = found
    }

    private static let readers: [String: @Sendable (SpecNode) throws -> SpecAction] = [
        "userListen": { try $0.listen() },
        "userUnlisten": { .unlisten(try $0.tuple(2)[1].query()) },
        "userSet": { .write([try $0.set()]) },
        "userPatch": { .write([try $0.patch()]) },
        "userDelete": { .write([Mutation(.delete, at: try $0.documentPath())]) },
        "addSnapshotsInSyncListener": { try $0.only(.addSnapshotsInSyncListener) },
        "removeSnapshotsInSyncListener": { try $0.only(.removeSnapshotsInSyncListener) },
        "waitForPendingWrites": { try $0.only(.waitForPendingWrites) },
        "loadBundle": { .loadBundle(try $0.string()) },
        "setIndexConfiguration": { .configureIndexes(json: $0.jsonText) },
        "watchAck": { .watch([try $0.targets(.added)]) },
        "watchReset": { .watch([try $0.targets(.reset)]) },
        "watchCurrent": { .watch([try $0.current()]) },
        "watchRemove": { .watch([try $0.removal()]) },
        "watchEntity": { .watch(try $0.entities()) },
        "watchFilter": { .watch([try $0.existenceFilter()]) },
        "watchSnapshot": { .watch([try $0.snapshot()]) },
        "watchStreamClose": { try $0.watchStreamClose() },
        "writeAck": { try $0.writeAcknowledgement() },
        "failWrite": { try $0.writeFailure() },
        "watchUsesTargetIndex": { try $0.targetIndex() },
        "runTimer": { .runTimer(try $0.oneOf(SpecVocabulary.timers)) },
        "drainQueue": { try $0.only(.drainQueue) },
        "enableNetwork": { .enableNetwork(try $0.bool()) },
        "changeUser": { .changeUser($0.isNull ? "" : try $0.string()) },
        "restart": { try $0.only(.restart) },
        "shutdown": { try $0.only(.shutdown) },
        "clearPersistence": { try $0.only(.clearPersistence) },
        "applyClientState": { try $0.clientState() },
        "triggerLruGC": { .collectGarbage(thresholdBytes: try $0.integer()) },
        "failDatabase": { .failDatabase(try $0.failingTransactions()) },
    ]
}

/// Names that stand in payloads.
enum SpecVocabulary {
    static let timers: Set<String> = [
        "all", "listen_stream_idle", "listen_stream_connection_backoff", "write_stream_idle",
        "write_stream_connection_backoff", "health_check_timeout", "online_state_timeout",
        "client_metadata_refresh", "lru_garbage_collection", "transaction_retry",
        "async_queue_retry", "index_backfill",
    ]

    /// Transactions of a client's store.
    static let transactions: Set<String> = [
        "Get next mutation batch", "read document", "Allocate target", "Release target",
        "Execute query", "Handle user change", "Locally write mutations", "Acknowledge batch",
        "Reject batch", "Get highest unacknowledged batch id", "Get last stream token",
        "Set last stream token", "Get last remote snapshot version",
        "Set last remote snapshot version", "Apply remote event", "notifyLocalViewChanges",
        "Remote document keys", "Collect garbage", "maybeGarbageCollectMultiClientState",
        "Lookup mutation documents", "Get target data", "Get new document changes",
        "Synchronize last document change read time", "updateClientMetadataAndTryBecomePrimary",
        "getHighestListenSequenceNumber",
    ]
}
