package import LarderModel
import LarderRemote

/// A client's use of the network: the two streams, the watched targets, the writes under way, and
/// the reachability of the backend.
///
/// A pure machine: the owner sets ``now``, reports an event and then performs, in order, the
/// effects that ``takeEffects()`` returns.
package struct RemoteStore: Sendable {
    /// The owner's monotonic time, set before each event.
    package var now: Duration = .zero
    /// The version of the last snapshot that was emitted; older ones are ignored.
    ///
    /// The owner sets it to the store's version at the start, and after the store lost some.
    package var lastSnapshotVersion: SnapshotVersion

    /// The last token of any target, which the first request of a stream takes to a backend of
    /// ours; set by the owner before it reports an open stream.
    package var lastToken: [UInt8] = []

    /// The watched targets, each with its last resume token.
    package internal(set) var targets: [Int32: TargetData] = [:]
    /// The causes that keep the network unused.
    package private(set) var offlineCauses: OfflineCauses = []

    let databaseID: DatabaseID
    /// The size above which a document cannot be stored.
    let maxDocumentBytes: Int64
    let jitter: @Sendable () -> Double
    var effects: [Effect] = []

    var watchStream = StreamMachine(backoff: .firestore)
    var aggregator: WatchAggregator
    /// Reachability by the watch stream, which listeners go by.
    var online: OnlineStateTracker
    /// Targets requested on the open stream that are not current yet.
    var awaitedTargets: Set<Int32> = []

    var writeStream = StreamMachine(backoff: .firestore)
    var pipeline: WritePipeline
    /// The write stream's last token; nil before its handshake is answered.
    var writeToken: [UInt8]?
    /// The names of batches; nil if batches are sent without names.
    ///
    /// The owner calls ``BatchNames/noteWriter(in:)`` before it reports an answered handshake.
    package var names: BatchNames?
    /// True if the write stream's backend commits a named batch once, however often it is sent.
    var namesWrites = false
    var wantsWrites = false
    /// Reachability by the write stream.
    var writeOnline: OnlineStateTracker
    /// True if the last write that was sent failed with a transient error.
    var isWritingInVain = false

    /// The stream with the most recent outcome.
    private var lastInformed = StreamKind.watch
    /// The state that the owner knows.
    private var reported = NetworkState(.unknown, .notAsked)
    /// True if the present outage was logged.
    private var hasWarned = false

    /// The two streams.
    enum StreamKind {
        case watch
        case write
    }

    /// Creates a machine without targets and writes, with the network enabled.
    ///
    /// - Parameters:
    ///   - maxDocumentBytes: the maximum size of a document, as Firestore counts it.
    ///   - online: the initial reachability, with its timeout.
    ///   - names: the names by which backends recognize batches that they have committed; nil for
    ///     none.
    ///   - writePipelineDepth: the maximum number of batches under way.
    ///   - jitter: gives random numbers, each from 0 up to but not 1.
    package init(
        databaseID: DatabaseID, lastSnapshotVersion: SnapshotVersion = .none,
        maxDocumentBytes: Int64 = 1_048_576,
        online: OnlineStateTracker = OnlineStateTracker(), names: BatchNames? = nil,
        writePipelineDepth: Int = 10,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.databaseID = databaseID
        self.lastSnapshotVersion = lastSnapshotVersion
        self.maxDocumentBytes = maxDocumentBytes
        self.jitter = jitter
        self.online = online
        writeOnline = online
        self.names = names
        pipeline = WritePipeline(depth: writePipelineDepth)
        aggregator = WatchAggregator(databaseID: databaseID)
    }

    /// The number of batches under way.
    package var pipelineCount: Int { pipeline.batches.count }

    /// True if the network is used.
    package var canUseNetwork: Bool { offlineCauses.isEmpty }

    /// The effects since the last call, in order.
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

    /// A timer fired that was set and not cancelled.
    package mutating func fire(_ timer: EngineTimer) {
        switch timer {
        case .watchStreamIdle: watchIdleTimerFired()
        case .watchStreamBackoff:
            perform(watchStream.backoffTimerFired(isNeeded: !targets.isEmpty), on: .watch)
        case .watchStreamHealth: watchStream.healthTimerFired()
        case .writeStreamIdle: writeIdleTimerFired()
        case .writeStreamBackoff:
            perform(
                writeStream.backoffTimerFired(isNeeded: !pipeline.batches.isEmpty), on: .write)
        case .writeStreamHealth: writeStream.healthTimerFired()
        case .onlineState: recordOutcome(online.timerFired(at: now), of: .watch)
        case .writeOnlineState: recordOutcome(writeOnline.timerFired(at: now), of: .write)
        default: break
        }
    }
}

// MARK: - Enabling and disabling

extension RemoteStore {
    /// Removes a cause; after the last one both streams open without backoff, if needed.
    package mutating func enableNetwork(reason: OfflineCauses = .user) {
        guard !canUseNetwork else { return fillWritePipeline() }
        offlineCauses.subtract(reason)
        if canUseNetwork { openStreams() } else { reportDisabled() }
    }

    /// Adds a cause: closes both streams and empties the pipeline.
    package mutating func disableNetwork(reason: OfflineCauses) {
        offlineCauses.formUnion(reason)
        closeStreams()
        reportDisabled()
    }

    /// Reopens both streams after a change of credentials or connectivity; the queue is read from
    /// its beginning.
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
            perform(watchStream.start(at: now, jitter: jitter).effects, on: .watch)
        }
        report(steps, of: .watch)
        fillWritePipeline()
    }

    private mutating func closeStreams() {
        closeWatchStream()
        closeWriteStream()
        report(writeOnline.set(.unknown, .notAsked), of: .write)
        isWritingInVain = false
        pipeline.clear()
        wantsWrites = false
    }

    /// Reports the causes; a client that has ended, is not primary or is changing its user is
    /// `unknown` rather than `offline`.
    private mutating func reportDisabled() {
        let isUnknown = offlineCauses.isDisjoint(with: [.user, .storeFailure])
        let state = isUnknown || offlineCauses.contains(.shutdown) ? OnlineState.unknown : .offline
        report(online.set(state, .disabled(offlineCauses)), of: .watch)
    }
}

// MARK: - Effects of the machines inside

extension RemoteStore {
    /// Performs the actions of a stream's machine.
    mutating func perform(_ steps: [StreamMachine.Effect], on kind: StreamKind) {
        for step in steps {
            switch (step, kind) {
            case (.open(let generation), .watch):
                effects.append(.openWatchStream(generation: generation))
            case (.open(let generation), .write):
                effects.append(.openWriteStream(generation: generation))
            case (.close, .watch): effects.append(.closeWatchStream)
            case (.close, .write): effects.append(.closeWriteStream)
            case (.schedule(let timer, let delay), _):
                effects.append(.schedule(EngineTimer(timer, of: kind), after: delay))
            case (.cancel(let timer), _):
                effects.append(.cancel(EngineTimer(timer, of: kind)))
            case (.invalidateToken, _): effects.append(.invalidateToken)
            case (.impossible(let sentence), _):
                assertionFailure("\(kind) \(sentence)")
                effects.append(.warn("\(kind) \(sentence)"))
            }
        }
    }

    /// Performs a tracker's actions after the backend has answered or has failed to.
    mutating func recordOutcome(_ steps: [OnlineStateTracker.Effect], of kind: StreamKind) {
        lastInformed = kind
        report(steps, of: kind)
    }

    /// Performs the actions of a stream's tracker, and reports a changed network state.
    mutating func report(_ steps: [OnlineStateTracker.Effect], of kind: StreamKind) {
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

    /// The state of the network by both streams.
    private var networkState: NetworkState {
        let shown = shownTracker
        return NetworkState(
            shown.state, shown.reason, listeners: online.state, isSilent: online.isSilent)
    }

    /// The tracker of a stream that is used; of two, the one with a decided state, else the one
    /// with the most recent outcome.
    private var shownTracker: OnlineStateTracker {
        if writeOnline.reason == .notAsked || !canUseNetwork { return online }
        if online.reason == .notAsked { return writeOnline }
        switch (online.state, writeOnline.state) {
        case (.unknown, .online), (.unknown, .offline): return writeOnline
        case (.online, .unknown), (.offline, .unknown): return online
        default: return lastInformed == .watch ? online : writeOnline
        }
    }
}

extension EngineTimer {
    /// A stream's timer.
    fileprivate init(_ timer: StreamMachine.Timer, of kind: RemoteStore.StreamKind) {
        switch (timer, kind) {
        case (.idle, .watch): self = .watchStreamIdle
        case (.idle, .write): self = .writeStreamIdle
        case (.backoff, .watch): self = .watchStreamBackoff
        case (.backoff, .write): self = .writeStreamBackoff
        case (.health, .watch): self = .watchStreamHealth
        case (.health, .write): self = .writeStreamHealth
        }
    }
}
