import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import LarderRuntime
import Synchronization

/// The actor that serves one namespace: its tree, its sessions and their listens.
///
/// Clients take turns by the time that their requests take; those of one client are served in their
/// order. What they send is delivered when no more work waits, or after a slice of time.
actor TreeServer {
    private let namespace: String
    let configuration: RealtimeBackendConfiguration
    let settings: BackendSettings
    nonisolated let scheduler: any Scheduler<RealtimeBackend.Timer>
    private nonisolated let executor: any SerialExecutor
    private nonisolated let published: Mutex<Node>
    /// The work that waits.
    nonisolated let waiting = Mutex(WaitingWork())
    /// Where the tree is stored; nil in memory.
    private let storage: (any TreeStorage)?

    /// The tree with all writes so far.
    private(set) var tree: Node
    private(set) var sessions: [Channel: BackendSession] = [:]
    private var sessionsByID: [String: BackendSession] = [:]
    let listens = ListenRegistry()
    var holdsResponses = false

    /// The deliveries at the end of the turn, in order.
    private var outgoing: [Delivery] = []
    /// Responses that are kept back.
    private var heldResponses: [Delivery] = []
    /// The changes of the turn, for the storage.
    private var uncommitted = TreeCommit()
    /// Sessions that ended in this turn, and whose last writes are to be stored with it.
    private var endedSessions: [BackendSession] = []
    /// Ended sessions whose last writes are not stored: those of an earlier run of the server, and
    /// those that the storage has refused, which are made again when a client connects.
    private var unwrittenSessions: [BackendSession]
    /// The writes that may arrive again.
    var madeWrites: MadeWrites
    /// Identifies what is kept of them.
    let namesID: String
    /// The security rules before the turn, if it has replaced them.
    private var formerSecurityRules: SecurityRules??
    /// True if the turn has something to store or to deliver.
    private var needsDelivery = false
    private var isInSlice = false
    /// When the work that is being done began.
    private(set) var workStart = Duration.zero
    /// The ended sessions whose operations are being made, and whose clients wait for that.
    var endings: [String: Ending] = [:]
    /// True once the server is closed: what is not made of sessions' operations stays stored.
    var isClosing = false
    /// How long the closing server makes operations, and what is called then.
    var closing: (deadline: Duration, completions: [@Sendable () -> Void])?
    private var lastSession: UInt64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// A server of a stored tree, or of one in memory.
    ///
    /// - Parameters:
    ///   - sessions: the sessions of an earlier run of the server; their last writes are applied before
    ///     any other work.
    ///   - madeWrites: the writes of an earlier run that may arrive again.
    init(
        _ namespace: String, tree: Node = .empty, sessions: [StoredSession] = [],
        madeWrites: MadeWrites = MadeWrites(), _ configuration: RealtimeBackendConfiguration,
        _ settings: BackendSettings,
        storage: (any TreeStorage)?
    ) {
        self.namespace = namespace
        self.tree = tree
        unwrittenSessions = sessions.map(BackendSession.init)
        self.configuration = configuration
        self.settings = settings
        self.storage = storage
        published = Mutex(tree)
        scheduler = configuration.scheduler
        executor = configuration.scheduler.executor
        var madeWrites = madeWrites
        namesID = madeWrites.identify(by: String(configuration.makeIdentity(), radix: 36))
        self.madeWrites = madeWrites
        if !sessions.isEmpty { perform { $0.writeUnwritten() } }
    }

    // MARK: Turns

    /// Does what waits, as far as it takes no longer than a slice, and ends the turn.
    func runSlice() {
        isInSlice = true
        var now = scheduler.uptime
        let end = now + WaitingWork.sliceTime
        while now < end, let (client, work) = waiting.withLock({ $0.queue.next() }) {
            workStart = now
            work.observer?.begin()
            work.body(self)
            work.observer?.end()
            let time = scheduler.uptime
            waiting.withLock { $0.finish(work, of: client, after: time - now) }
            now = time
        }
        endTurn()
        isInSlice = false
        let goesOn = waiting.withLock { waiting in
            waiting.isScheduled = waiting.queue.isReady || needsDelivery
            return waiting.isScheduled
        }
        if goesOn { scheduleSlice() }
    }

    /// The tree with the writes that were answered.
    nonisolated var publishedTree: Node { published.withLock { $0 } }

    /// The time of a request, in milliseconds since the Unix epoch.
    var now: Int64 { configuration.clock().milliseconds }

    /// The security rules at this time; nil for none.
    var securityRules: SecurityRules? { settings.securityRules(of: namespace) }

    // MARK: Delivery

    func send(_ event: ConnectionEvent, to channel: Channel) {
        channel.add(event)
        deliverLater(.event(event, channel))
    }

    /// Sends the response to a request, behind what is to be sent before it.
    func respond(_ response: RealtimeResponse, to number: Int, of channel: Channel) {
        if let session = sessions[channel], !session.unsent.isEmpty {
            return session.unsent.add(response, to: number)
        }
        respondNow(response, to: number, of: channel)
    }

    func respondNow(_ response: RealtimeResponse, to number: Int, of channel: Channel) {
        let event = ConnectionEvent.response(number: number, response)
        channel.add(event)
        let delivery = Delivery.event(event, channel)
        if holdsResponses { heldResponses.append(delivery) } else { deliverLater(delivery) }
    }

    func holdResponses(_ holds: Bool) {
        holdsResponses = holds
        guard !holds else { return }
        for response in heldResponses { deliverLater(response) }
        heldResponses = []
    }

    func deliverLater(_ delivery: Delivery) {
        outgoing.append(delivery)
        scheduleDelivery()
    }

    /// A turn ends with the slice of the work that waits: its writes share a commit.
    private func scheduleDelivery() {
        needsDelivery = true
        if !isInSlice { scheduleSliceOnce() }
    }

    private func endTurn() {
        guard needsDelivery else { return }
        needsDelivery = false
        do throws(LarderError) {
            if let storage {
                madeWrites.addChanges(to: &uncommitted)
                if !uncommitted.isEmpty { try storage.commit(uncommitted, to: namespace) }
                uncommitted = TreeCommit()
            }
        } catch {
            return revertTurn(error)
        }
        madeWrites.confirm()
        confirmEndings()
        formerSecurityRules = nil
        published.withLock { $0 = tree }
        endedSessions = []
        let deliveries = outgoing
        outgoing = []
        for delivery in deliveries { delivery.perform() }
    }

    /// Ends all sessions after a commit that failed: what they were to receive did not happen.
    private func revertTurn(_ error: LarderError) {
        let deliveries = outgoing
        (outgoing, heldResponses, uncommitted) = ([], [], TreeCommit())
        tree = published.withLock { $0 }
        madeWrites.revert()
        if let former = formerSecurityRules.take() {
            settings.setSecurityRules(former, of: namespace)
        }
        for delivery in deliveries {
            switch delivery {
            case .event(let event, _) where event.isEnd: deliverLater(delivery)
            case .event: break
            case .answer(_, let completion):
                let response = RealtimeResponse(.unavailable, reason: error.message)
                deliverLater(.answer(response, completion))
            }
        }
        let live = orderedSessions
        for session in live { remove(session, with: .closed(error)) }
        let unmade = endedSessions + revertEndings()
        for session in unmade { session.madeCount = session.confirmedCount }
        unwrittenSessions += unmade + live.filter { !$0.operations.isEmpty }
        endedSessions = []
    }

    /// Replaces the security rules; they are stored with the turn.
    ///
    /// - Parameter rules: nil for the configured ones.
    func replaceSecurityRules(with rules: StoredRules?) {
        if formerSecurityRules == nil { formerSecurityRules = .some(securityRules) }
        settings.setSecurityRules(rules?.rules ?? settings.configuredRules, of: namespace)
        guard storage != nil else { return }
        if let rules {
            rules.add(to: &uncommitted)
        } else {
            StoredRules.remove(in: &uncommitted)
        }
        scheduleDelivery()
    }

    /// Applies an operation to those of a session; it is stored with the turn.
    func apply(_ operation: SessionOperation, to session: BackendSession) {
        let hadNone = session.operations.isEmpty
        session.operations.apply(operation)
        session.chargeMemory()
        guard storage != nil, !(hadNone && session.operations.isEmpty) else { return }
        session.records.add(operation, session.operations, to: &uncommitted)
        scheduleDelivery()
    }

    /// Notes that the operations of an ended session were made; they are removed from the storage
    /// with the turn, in the commit that stores what they have written.
    func noteEndWritten(_ session: BackendSession) {
        endedSessions.append(session)
        if storage != nil { session.records.removeAll(in: &uncommitted) }
        scheduleDelivery()
    }

    /// Notes how many of the operations of an ended session were made; it is stored with the turn.
    func noteProgress(_ count: Int, of session: BackendSession) {
        if storage != nil { session.records.addProgress(count, to: &uncommitted) }
        scheduleDelivery()
    }

    /// Makes the last writes of sessions again that the storage has refused.
    func writeUnwritten() {
        let sessions = unwrittenSessions
        unwrittenSessions = []
        for session in sessions { beginEnding(session) }
    }

    // MARK: The tree

    /// Replaces the tree.
    ///
    /// - Parameter write: the write that makes it of the present one.
    func setTree(_ result: Node, after write: TreeWrite) {
        tree = result
        if storage != nil {
            for value in write.values { recordChange(at: write.path.appending(value.path)) }
        }
        scheduleDelivery()
    }

    /// Notes the content of a path for the storage: the nearest node above that is empty, if there
    /// is one, since it has lost its priority as well.
    private func recordChange(at path: TreePath) {
        var (node, depth) = (tree, 0)
        while depth < path.count, !node.isEmpty {
            node = node.child(path[path.startIndex + depth])
            depth += 1
        }
        uncommitted.values.fold(node, at: path.prefix(depth))
    }

    // MARK: Sessions

    /// Begins the session of a connection.
    func addSession(_ channel: Channel) -> BackendSession {
        lastSession += 1
        // A client that names a session ends it: names of others cannot be guessed.
        let secret = String(configuration.makeIdentity(), radix: 36)
        let session = BackendSession(
            number: lastSession, id: "\(secret)-\(lastSession)", channel: channel)
        sessions[channel] = session
        sessionsByID[session.id] = session
        return session
    }

    /// A session that a client had before.
    func session(_ id: String) -> BackendSession? { sessionsByID[id] }

    /// The sessions in the order of their beginning.
    var orderedSessions: [BackendSession] {
        sessions.values.sorted { $0.number < $1.number }
    }

    /// Forgets a session; its client receives an event, or nothing if it closed the connection.
    func remove(_ session: BackendSession, with event: ConnectionEvent?) {
        sessions[session.channel] = nil
        sessionsByID[session.id] = nil
        session.cancelExpiration?()
        for key in session.listens { listens.remove(key, of: session) }
        if let event { send(event, to: session.channel) }
    }

    /// Ends all sessions and makes what was left for their ends.
    ///
    /// - Parameter completion: called when everything is stored and delivered.
    func close(_ completion: @escaping @Sendable () -> Void) {
        isClosing = true
        writeUnwritten()
        endAllSessions(.closed(BackendSettings.closed))
        let deadline = closing?.deadline ?? scheduler.uptime + Self.closingTime
        closing = (deadline, (closing?.completions ?? []) + [completion])
        finishClosing()
    }

    /// Starts the timer of a user's token.
    func scheduleExpiration(of session: BackendSession, at time: Timestamp) {
        let delay = Duration.milliseconds(max(0, time.milliseconds - now))
        let channel = session.channel
        session.cancelExpiration = scheduler.schedule(
            .tokenExpiration(session: session.number), after: delay
        ) { [weak self] in
            self?.assumeIsolated { server in
                if let session = server.sessions[channel] { server.expireToken(of: session) }
            }
        }
    }
}

/// A delivery of a turn.
enum Delivery: Sendable {
    case event(ConnectionEvent, Channel)
    /// The answer to a write that no connection asked for.
    case answer(RealtimeResponse, @Sendable (RealtimeResponse) -> Void)

    func perform() {
        switch self {
        case .event(let event, let channel): channel.deliver(event)
        case .answer(let response, let completion): completion(response)
        }
    }
}

extension Timestamp {
    /// Whole milliseconds since the Unix epoch.
    var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds / 1_000_000) }
}

extension ConnectionEvent {
    /// True for the last event of a connection.
    fileprivate var isEnd: Bool {
        switch self {
        case .reset, .shutdown, .closed: true
        case .opened, .response, .push: false
        }
    }
}
