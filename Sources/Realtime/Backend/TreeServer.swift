import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime
import Synchronization

/// The actor that serves one namespace: its tree, its sessions and their listens.
///
/// Requests are served in their order. What they send is delivered when no more work waits.
actor TreeServer {
    let configuration: RealtimeBackendConfiguration
    let settings: BackendSettings
    private nonisolated let scheduler: any Scheduler<RealtimeBackend.Timer>
    private nonisolated let executor: any SerialExecutor
    private nonisolated let published = Mutex(Node.empty)

    /// The tree with all writes so far.
    var tree = Node.empty {
        didSet { scheduleDelivery() }
    }
    var sessions: [Channel: Session] = [:]
    let listens = ListenRegistry()
    var holdsResponses = false

    /// What is delivered at the end of the turn, in order.
    private var outgoing: [@Sendable () -> Void] = []
    /// Responses that are kept back.
    private var heldResponses: [@Sendable () -> Void] = []
    private var isDeliveryScheduled = false
    private var lastSession: UInt64 = 0
    private let identity: UInt64

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(
        _ namespace: String, _ configuration: RealtimeBackendConfiguration,
        _ settings: BackendSettings
    ) {
        self.configuration = configuration
        self.settings = settings
        scheduler = configuration.scheduler
        executor = configuration.scheduler.executor
        identity = configuration.makeIdentity()
    }

    /// Enqueues work after all previously enqueued work; returns immediately.
    nonisolated func perform(_ body: @escaping @Sendable (isolated TreeServer) -> Void) {
        scheduler.run { self.assumeIsolated { body($0) } }
    }

    /// The tree with the writes that were answered.
    nonisolated var publishedTree: Node { published.withLock { $0 } }

    /// The time of a request, in milliseconds since the Unix epoch.
    var now: Int64 { configuration.clock().milliseconds }

    // MARK: Delivery

    func send(_ event: ConnectionEvent, to session: Session) {
        let channel = session.channel
        deliverLater { channel.deliver(event) }
    }

    func respond(_ response: RealtimeResponse, to number: Int, of session: Session) {
        let channel = session.channel
        let delivery: @Sendable () -> Void = {
            channel.deliver(.response(number: number, response))
        }
        if holdsResponses { heldResponses.append(delivery) } else { deliverLater(delivery) }
    }

    func holdResponses(_ holds: Bool) {
        holdsResponses = holds
        guard !holds else { return }
        for response in heldResponses { deliverLater(response) }
        heldResponses = []
    }

    func deliverLater(_ delivery: @escaping @Sendable () -> Void) {
        outgoing.append(delivery)
        scheduleDelivery()
    }

    private func scheduleDelivery() {
        guard !isDeliveryScheduled else { return }
        isDeliveryScheduled = true
        perform { $0.deliver() }
    }

    private func deliver() {
        isDeliveryScheduled = false
        published.withLock { $0 = tree }
        let deliveries = outgoing
        outgoing = []
        for delivery in deliveries { delivery() }
    }

    // MARK: Sessions

    /// A session of a new connection.
    func makeSession(_ channel: Channel) -> Session {
        lastSession += 1
        let session = Session(
            number: lastSession, id: "\(String(identity, radix: 36))-\(lastSession)",
            channel: channel)
        sessions[channel] = session
        return session
    }

    /// Starts the timer of a user's token.
    func scheduleExpiration(of session: Session, at time: Timestamp) {
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

extension Timestamp {
    /// Whole milliseconds since the Unix epoch.
    var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds / 1_000_000) }
}
