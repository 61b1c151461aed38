package import LarderModel

/// What a client does with the network: the streams, what is watched on them, which writes are
/// under way and whether the backend can be reached.
///
/// A pure machine. Its owner tells it what happened and, after each call, carries out in order
/// what ``takeEffects()`` returns. It neither waits nor knows a clock: the owner sets ``now``
/// before a call.
package struct RemoteStore: Sendable {
    /// The owner's time, from any beginning; it never goes back.
    package var now: Duration = .zero
    /// The last snapshot that was raised; older ones of the backend are not.
    ///
    /// The owner sets it to the store's when it begins, or when the store lost some.
    package var lastSnapshotVersion: SnapshotVersion

    /// What is listened to, by target, each with the last token that the backend gave.
    package internal(set) var targets: [Int32: TargetData] = [:]
    /// Why the network is not used.
    package private(set) var offlineCauses: OfflineCauses = []

    let databaseID: DatabaseID
    let jitter: @Sendable () -> Double
    var effects: [Effect] = []

    var watchStream = StreamMachine(.watch)
    var aggregator: WatchAggregator
    var online: OnlineStateTracker
    /// What the owner knows of ``online``.
    private var reported = (state: OnlineState.unknown, reason: NetworkReason.notAsked)

    var writeStream = StreamMachine(.write)
    var pipeline: WritePipeline
    /// The last token of the write stream; nil before its handshake is answered.
    var writeToken: [UInt8]?
    var wantsWrites = false

    /// A machine that has done nothing yet, with the network allowed.
    ///
    /// - Parameters:
    ///   - online: what is known of the backend, and when it counts as away.
    ///   - writePipelineDepth: how many batches may be under way at a time.
    ///   - jitter: gives random numbers, each from 0 up to but not 1.
    package init(
        databaseID: DatabaseID, lastSnapshotVersion: SnapshotVersion = .none,
        online: OnlineStateTracker = OnlineStateTracker(), writePipelineDepth: Int = 10,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.databaseID = databaseID
        self.lastSnapshotVersion = lastSnapshotVersion
        self.jitter = jitter
        self.online = online
        pipeline = WritePipeline(depth: writePipelineDepth)
        aggregator = WatchAggregator(databaseID: databaseID)
    }

    /// How many batches are under way.
    package var pipelineCount: Int { pipeline.batches.count }

    /// The youngest batch that is under way; nil for none.
    package var highestPipelinedBatchID: Int64? { pipeline.batches.last?.id }

    /// Whether the network is used.
    package var canUseNetwork: Bool { offlineCauses.isEmpty }

    /// What is to be done since the last call, in order.
    package mutating func takeEffects() -> [Effect] {
        if wantsWrites {
            wantsWrites = false
            if canUseNetwork, pipeline.room > 0 {
                effects.append(.wantsWrites(after: pipeline.cursor, count: pipeline.room))
            }
        }
        guard !effects.isEmpty else { return [] }
        defer { effects = [] }
        return effects
    }

    /// Takes the end of a timer that was set and not stopped.
    package mutating func fire(_ timer: EngineTimer) {
        switch timer {
        case .watchStreamIdle: watchIdleTimerFired()
        case .watchStreamBackoff:
            watchStream.backoffTimerFired(isNeeded: !targets.isEmpty, &effects)
        case .watchStreamHealth: watchStream.healthTimerFired()
        case .writeStreamIdle: writeIdleTimerFired()
        case .writeStreamBackoff:
            writeStream.backoffTimerFired(isNeeded: !pipeline.batches.isEmpty, &effects)
        case .writeStreamHealth: writeStream.healthTimerFired()
        case .onlineState: note(online.timerFired())
        default: break
        }
    }
}

// MARK: - Whether the network is used

extension RemoteStore {
    /// Ends a cause of not using the network; after the last one both streams open without a
    /// wait, as far as they are needed.
    package mutating func enableNetwork(reason: OfflineCauses = .user) {
        guard !canUseNetwork else { return fillWritePipeline() }
        offlineCauses.subtract(reason)
        if canUseNetwork { openStreams() } else { reportDisabled() }
    }

    /// Closes both streams and empties the pipeline, until the cause has ended.
    package mutating func disableNetwork(reason: OfflineCauses) {
        offlineCauses.formUnion(reason)
        closeStreams()
        reportDisabled()
    }

    /// Closes both streams and opens them anew, because credentials or connectivity changed;
    /// the queue is read from its beginning.
    package mutating func restart() {
        closeStreams()
        if canUseNetwork { openStreams() }
    }

    /// Ends for good.
    package mutating func shutdown() {
        disableNetwork(reason: .shutdown)
    }

    private mutating func openStreams() {
        var steps = online.set(.unknown, .notAsked)
        if !targets.isEmpty {
            steps += online.streamStarted()
            watchStream.start(at: now, jitter: jitter, &effects)
        }
        note(steps)
        fillWritePipeline()
    }

    private mutating func closeStreams() {
        closeWatchStream()
        closeWriteStream()
        pipeline.clear()
        wantsWrites = false
    }

    /// A client that has ended, that another one speaks for or that is to change its user does
    /// not know of the backend.
    private mutating func reportDisabled() {
        let isUnknown = offlineCauses.isDisjoint(with: [.user, .storeFailure])
        let state = isUnknown || offlineCauses.contains(.shutdown) ? OnlineState.unknown : .offline
        note(online.set(state, .disabled(offlineCauses)))
    }

    /// Carries out what the tracker of the online state asks for.
    mutating func note(_ steps: [OnlineStateTracker.Effect]) {
        for step in steps {
            switch step {
            case .setTimer(let delay): effects.append(.schedule(.onlineState, after: delay))
            case .cancelTimer: effects.append(.cancel(.onlineState))
            case .warn(let sentence): effects.append(.warn(sentence))
            case .changed: break
            }
        }
        guard reported != (online.state, online.reason) else { return }
        reported = (online.state, online.reason)
        effects.append(.onlineState(online.state, online.reason))
    }
}
