package import LarderModel
package import LarderRemote
package import OrderedCollections

extension RemoteStore {
    package enum Effect: Sendable {
        /// Open a watch stream, whose events carry its generation.
        case openWatchStream(generation: Int)
        /// Close and release the watch stream, if it is open.
        case closeWatchStream
        case sendWatch(WatchRequest)
        /// Open a write stream, whose events carry its generation.
        case openWriteStream(generation: Int)
        /// Close and release the write stream, if it is open.
        case closeWriteStream
        case sendWrite(WriteRequest)
        /// Set or replace a timer; when it fires, call ``RemoteStore/fire(_:)``.
        case schedule(EngineTimer, after: Duration)
        case cancel(EngineTimer)
        /// Discard the remote's access token.
        case invalidateToken
        case onlineState(NetworkState)
        /// Apply a snapshot.
        ///
        /// ``RemoteStore/targets`` have its tokens already: an event that could not be applied must
        /// be applied again before the network is used.
        case apply(RemoteEvent)
        /// The backend has ended a target with an error.
        case rejectTarget(Int32, LarderError)
        /// The backend has committed the oldest batch of the pipeline.
        ///
        /// It has left the pipeline already: an acknowledgement that could not be stored must be
        /// stored before the network is used.
        case acknowledge(batchID: Int64, CommitResponse)
        /// The backend has rejected a batch, which has left the pipeline.
        case reject(batchID: Int64, LarderError)
        /// The oldest batch of the pipeline was not committed, and is sent again; `wasSent` is
        /// false if there was no stream to send it on.
        case attemptFailed(batchID: Int64, LarderError, wasSent: Bool)
        /// The pipeline has room: call ``RemoteStore/add(_:)``, also with an empty array.
        case wantsWrites(after: Int64, count: Int)
        /// Log a sentence.
        case warn(String)
    }
}

/// The timers of an engine.
///
/// The names are those of Firestore's specification tests.
package enum EngineTimer: String, Sendable, Hashable, CaseIterable {
    case watchStreamIdle = "listen_stream_idle"
    case watchStreamBackoff = "listen_stream_connection_backoff"
    case writeStreamIdle = "write_stream_idle"
    case writeStreamBackoff = "write_stream_connection_backoff"
    /// A watch stream that stayed open so long is healthy.
    case watchStreamHealth = "health_check_timeout"
    case writeStreamHealth = "write_health_check_timeout"
    /// A backend that has not answered on the watch stream counts as unreachable.
    case onlineState = "online_state_timeout"
    case writeOnlineState = "write_online_state_timeout"
    /// Renews the lease of the network, or checks it.
    case lease = "client_metadata_refresh"
    /// Fails a call that the backend has not answered.
    case callTimeout = "call_timeout"
    case transactionRetry = "transaction_retry"
    /// Sends writes of a bulk writer that were held back.
    case bulkWrites = "bulk_writes"
    /// Checks again for commits of another process.
    case following = "following"
    /// Evicts documents that are too old for the cache rules.
    case cacheRules = "cache_rules"
    /// Repeats work that the disk has refused.
    case recovery = "async_queue_retry"
}

/// The changes of all watched targets up to a snapshot of the backend.
package struct RemoteEvent: Sendable {
    /// The snapshot's version; none for an event that no backend sent.
    package var version: SnapshotVersion
    package var targets: [Int32: RemoteTargetChange]
    /// Targets whose count of documents did not agree, with the purpose of the new request.
    package var mismatches: [Int32: WatchTarget.Purpose]
    /// Changed documents in the order received, which is mostly that of their names.
    ///
    /// An absent document without a version is unknown from now on.
    package var documents: OrderedDictionary<DocumentPath, DocumentReading>
    /// Those of ``documents`` that only limbo resolution requested.
    package var resolvedLimboDocuments: Set<DocumentPath>

    package init(
        version: SnapshotVersion, targets: [Int32: RemoteTargetChange] = [:],
        mismatches: [Int32: WatchTarget.Purpose] = [:],
        documents: OrderedDictionary<DocumentPath, DocumentReading> = [:],
        resolvedLimboDocuments: Set<DocumentPath> = []
    ) {
        self.version = version
        self.targets = targets
        self.mismatches = mismatches
        self.documents = documents
        self.resolvedLimboDocuments = resolvedLimboDocuments
    }
}

/// The change of one target in an event.
package struct RemoteTargetChange: Sendable, Equatable {
    /// The new resume token; empty if unchanged.
    package var resumeToken: [UInt8]
    /// Whether the backend has sent the whole target.
    package var isCurrent: Bool
    package var added: Set<DocumentPath>
    package var modified: Set<DocumentPath>
    package var removed: Set<DocumentPath>

    package init(
        resumeToken: [UInt8] = [], isCurrent: Bool = false, added: Set<DocumentPath> = [],
        modified: Set<DocumentPath> = [], removed: Set<DocumentPath> = []
    ) {
        self.resumeToken = resumeToken
        self.isCurrent = isCurrent
        self.added = added
        self.modified = modified
        self.removed = removed
    }

    package var hasDocuments: Bool { !(added.isEmpty && modified.isEmpty && removed.isEmpty) }
}
