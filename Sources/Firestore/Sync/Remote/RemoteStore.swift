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
    /// What listeners go by.
    var online: OnlineStateTracker
    /// Targets that were asked for on the open stream and are not current yet.
    var awaitedTargets: Set<Int32> = []

    var writeStream = StreamMachine(.write)
    var pipeline: WritePipeline
    /// The last token of the write stream; nil before its handshake is answered.
    var writeToken: [UInt8]?
    var wantsWrites = false
    /// What the write stream knows of the backend.
    var writeOnline: OnlineStateTracker
    /// Whether the last write that was sent was not committed, for a reason that may pass.
    var isWritingInVain = false

    /// The kind of stream that has learned something of the backend last.
    private var informant = StreamKind.watch
    /// What the owner knows of the network.
    private var reported = NetworkState(.unknown, .notAsked)
    /// Whether the log was told of the present outage.
    private var hasWarned = false

    /// One of the two streams.
    enum StreamKind {
        case watch
        case write
    }

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
        // Both have seen nothing yet, and have the same patience.
        writeOnline = online
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
        case .onlineState: learn(online.timerFired(at: now), by: .watch)
        case .writeOnlineState: learn(writeOnline.timerFired(at: now), by: .write)
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
        note(steps, of: .watch)
        fillWritePipeline()
    }

    private mutating func closeStreams() {
        closeWatchStream()
        closeWriteStream()
        note(writeOnline.set(.unknown, .notAsked), of: .write)
        isWritingInVain = false
        pipeline.clear()
        wantsWrites = false
    }

    /// A client that has ended, that another one speaks for or that is to change its user does
    /// not know of the backend.
    private mutating func reportDisabled() {
        let isUnknown = offlineCauses.isDisjoint(with: [.user, .storeFailure])
        let state = isUnknown || offlineCauses.contains(.shutdown) ? OnlineState.unknown : .offline
        note(online.set(state, .disabled(offlineCauses)), of: .watch)
    }
}

// MARK: - Whether the backend can be reached

extension RemoteStore {
    /// Carries out what a tracker asks for after the backend has answered, or has failed to.
    mutating func learn(_ steps: [OnlineStateTracker.Effect], by kind: StreamKind) {
        informant = kind
        note(steps, of: kind)
    }

    /// Carries out what the tracker of a stream asks for.
    mutating func note(_ steps: [OnlineStateTracker.Effect], of kind: StreamKind) {
        let timer = kind == .watch ? EngineTimer.onlineState : .writeOnlineState
        for step in steps {
            switch step {
            case .setTimer(let delay): effects.append(.schedule(timer, after: delay))
            case .cancelTimer: effects.append(.cancel(timer))
            case .warn(let sentence):
                if !hasWarned { effects.append(.warn(sentence)) }
                hasWarned = true
            case .changed(let state):
                if state == .online { hasWarned = false }
            }
        }
        let state = networkState
        guard reported != state else { return }
        reported = state
        effects.append(.onlineState(state))
    }

    /// What both streams know of the network.
    private var networkState: NetworkState {
        let shown = shownTracker
        return NetworkState(
            shown.state, shown.reason, listeners: online.state, isSilent: online.isSilent)
    }

    /// The tracker of a stream that is used, that knows whether the backend can be reached, or at
    /// last the one that has heard something last.
    private var shownTracker: OnlineStateTracker {
        if writeOnline.reason == .notAsked || !canUseNetwork { return online }
        if online.reason == .notAsked { return writeOnline }
        switch (online.state, writeOnline.state) {
        case (.unknown, .online), (.unknown, .offline): return writeOnline
        case (.online, .unknown), (.offline, .unknown): return online
        default: return informant == .watch ? online : writeOnline
        }
    }
}
