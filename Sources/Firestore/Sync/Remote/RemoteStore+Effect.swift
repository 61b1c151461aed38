package import LarderModel
package import LarderRemote
package import OrderedCollections

extension RemoteStore {
    /// What the owner of a ``RemoteStore`` is to do.
    package enum Effect: Sendable {
        /// Opens a watch stream; its events are given back with its generation.
        case openWatchStream(generation: Int)
        /// Closes the watch stream, if it still is there, and lets it go.
        case closeWatchStream
        /// Sends on the watch stream.
        case sendWatch(WatchRequest)
        /// Opens a write stream; its events are given back with its generation.
        case openWriteStream(generation: Int)
        /// Closes the write stream, if it still is there, and lets it go.
        case closeWriteStream
        /// Sends on the write stream.
        case sendWrite(WriteRequest)
        /// Sets a timer, instead of the same one if that is set; its end comes back by
        /// ``RemoteStore/fire(_:)``.
        case schedule(EngineTimer, after: Duration)
        /// Stops a timer.
        case cancel(EngineTimer)
        /// Lets the remote forget its token of access.
        case invalidateToken
        /// What is known of the network has changed.
        case onlineState(NetworkState)
        /// A snapshot is to be applied.
        ///
        /// ``RemoteStore/targets`` have its tokens already, so an event that could not be
        /// applied is applied again before the network is used again.
        case apply(RemoteEvent)
        /// The backend watches the target no longer, for a reason.
        case rejectTarget(Int32, LarderError)
        /// The oldest batch of the pipeline is committed.
        ///
        /// It has left the pipeline already: an acknowledgement that could not be stored is
        /// stored again before the network is used again.
        case acknowledge(batchID: Int64, CommitResponse)
        /// The batch is refused for good; it has left the pipeline.
        case reject(batchID: Int64, LarderError)
        /// The oldest batch of the pipeline was not committed, and is sent again; whether it was
        /// sent this time, or there was no stream to send it on.
        case attemptFailed(batchID: Int64, LarderError, wasSent: Bool)
        /// The pipeline has room: the owner answers with ``RemoteStore/add(_:)``, also when
        /// there is nothing.
        case wantsWrites(after: Int64, count: Int)
        /// A sentence for the log.
        case warn(String)
    }
}

/// What an engine waits for; each is set at most once at a time.
///
/// The names are those of Firestore's specification tests.
package enum EngineTimer: String, Sendable, Hashable, CaseIterable {
    /// An idle watch stream is closed.
    case watchStreamIdle = "listen_stream_idle"
    /// A watch stream that failed is opened again.
    case watchStreamBackoff = "listen_stream_connection_backoff"
    /// An idle write stream is closed.
    case writeStreamIdle = "write_stream_idle"
    /// A write stream that failed is opened again.
    case writeStreamBackoff = "write_stream_connection_backoff"
    /// A stream that stayed open so long is healthy.
    case watchStreamHealth = "health_check_timeout"
    /// The same of the write stream.
    case writeStreamHealth = "write_health_check_timeout"
    /// A backend that has not answered so long counts as away.
    case onlineState = "online_state_timeout"
    /// The same of the write stream.
    case writeOnlineState = "write_online_state_timeout"
    /// The lease of the network is renewed, or looked at.
    case lease = "client_metadata_refresh"
    /// A call of a transaction fails, since the backend does not answer.
    case callTimeout = "call_timeout"
    /// A transaction is tried again.
    case transactionRetry = "transaction_retry"
    /// Commits of another process are looked for again.
    case following = "following"
    /// What the disk refused is tried again.
    case recovery = "async_queue_retry"
}

/// What a backend has told up to one snapshot: everything, for every target that is watched.
package struct RemoteEvent: Sendable {
    /// The snapshot; none for an event that no backend sent.
    package var version: SnapshotVersion
    /// What has happened to targets.
    package var targets: [Int32: RemoteTargetChange]
    /// Targets whose number of documents did not agree, each with the purpose for which it is
    /// asked for anew.
    package var mismatches: [Int32: WatchTarget.Purpose]
    /// Documents that changed, as they were told: a backend mostly tells them in the order of their
    /// names.
    ///
    /// An absent one without a version says that nothing is known of it any more.
    package var documents: OrderedDictionary<DocumentPath, DocumentReading>
    /// Documents of ``documents`` that were asked for only because they were in limbo.
    package var resolvedLimboDocuments: Set<DocumentPath>

    /// An event with some contents.
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

/// What an event says of one target.
package struct RemoteTargetChange: Sendable, Equatable {
    /// What resumes the target from here; empty for what it was.
    package var resumeToken: [UInt8]
    /// Whether the backend has told all that there was.
    package var isCurrent: Bool
    /// Documents that came into the target.
    package var added: Set<DocumentPath>
    /// Documents that were in it and have changed.
    package var modified: Set<DocumentPath>
    /// Documents that left it.
    package var removed: Set<DocumentPath>

    /// A change with some contents.
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

    /// Whether documents have changed.
    package var hasDocuments: Bool { !(added.isEmpty && modified.isEmpty && removed.isEmpty) }
}
