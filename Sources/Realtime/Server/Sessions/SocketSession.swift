import LarderCore
import LarderHTTP
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import Logging
import Metrics
import NIOCore
import Synchronization

/// A client's session on a WebSocket: feeds the machine of the session, and performs its actions
/// on a connection of the backend.
///
/// Confined to the event loop of the socket.
final class SocketSession: WebSocketSession {
    private let use: NamespaceUse
    private let request: ConnectRequest
    private let logger: Logger
    private let count: SessionCount
    private let refusals: AccessMonitor
    private let loop: any EventLoop
    /// The size of unsent events from which requests wait.
    private let room: Int
    private let start: NIODeadline
    private let events: LoopEvents<ConnectionEvent>
    private var machine: SessionMachine
    private var connection: BackendConnection?
    private var memory: MemoryAccount?
    private var wake: () -> Void = {}
    /// Encodes large messages, which takes longer than other sockets of the loop should wait.
    private let encoders: WorkPool
    private var isEncoding = false
    /// Set while a message waits for memory.
    private var retry: Scheduled<Void>?

    /// The size of messages that are encoded on the event loop, however much memory is in use.
    private static let smallBytes = 64 << 10
    /// The time after which a message that waits for memory is tried again.
    private static let retryTime = TimeAmount.milliseconds(20)

    /// - Parameter host: the host by which the client has reached the server.
    init(
        _ use: NamespaceUse, _ address: SessionAddress, host: String,
        _ configuration: SessionConfiguration, _ logger: Logger, _ count: SessionCount,
        _ refusals: AccessMonitor, _ encoders: WorkPool, on loop: any EventLoop
    ) {
        self.encoders = encoders
        self.use = use
        self.logger = logger
        self.count = count
        self.refusals = refusals
        self.loop = loop
        room = configuration.maxPendingBytesWhileReading
        request = address.request
        start = loop.now
        events = LoopEvents(loop)
        machine = SessionMachine(
            configuration, host: host, pushFrames: use.namespace.pushFrames, at: .zero)
    }

    /// The time since the beginning.
    private var now: Duration { Duration(loop.now - start) }

    func begin(_ memory: MemoryAccount, _ wake: @escaping () -> Void) {
        self.wake = wake
        self.memory = memory
        machine.charge(to: memory)
        count.change(by: 1)
        let bound = NIOLoopBound(self, eventLoop: loop)
        // The listener refers to the session until ``close()``.
        events.listen { bound.value.receiveEvents() }
        let namespace = use.namespace
        connection = namespace.backend.connect(
            request, to: namespace.name, room: room, memory: memory
        ) { [events] event in events.add(event) }
    }

    private func receiveEvents() {
        for event in events.take() {
            if case .response(_, let response) = event { noteRefusal(response) }
            perform(machine.received(event))
        }
        wake()
    }

    private func noteRefusal(_ response: RealtimeResponse) {
        let kind: AccessRefusal
        switch response.status {
        case .invalidToken, .expiredToken: kind = .token
        case .permissionDenied: kind = .rules
        default: return
        }
        refusals.note(
            kind, response.reason ?? "permission denied", over: .websocket,
            address: memory?.address)
    }

    func receive(_ text: [UInt8]) {
        perform(machine.received(text, at: now))
    }

    func receiveOther() {
        machine.receivedOther(at: now)
    }

    func next() -> WebSocketOutput? {
        if machine.nextBytes > Self.smallBytes {
            encodeNext()
            return nil
        }
        while true {
            let output = machine.next()
            connection?.took(machine.takeTakenBytes())
            switch output {
            case .frame(let text): return .text(text)
            case .perform(let actions): perform(actions)
            case .close: return .close
            case nil: return nil
            }
        }
    }

    /// Encodes the next message once there is memory, and goes on with it.
    private func encodeNext() {
        guard !isEncoding, let memory, let encode = machine.encoding else { return }
        guard !memory.isFull else { return waitForMemory() }
        isEncoding = true
        let bound = NIOLoopBound(self, eventLoop: loop)
        encoders.perform(for: ObjectIdentifier(memory)) { [loop] in
            // It has waited for its turn.
            if !memory.isClosed, !memory.isFull { encode() }
            loop.execute {
                bound.value.isEncoding = false
                bound.value.wake()
            }
        }
    }

    /// Tries again after ``retryTime``: connections that hold the memory may be closed by then.
    private func waitForMemory() {
        guard retry == nil else { return }
        retry = loop.assumeIsolated().scheduleTask(in: Self.retryTime) { [weak self] in
            self?.retry = nil
            self?.wake()
        }
    }

    var wantsInput: Bool { machine.wantsInput }

    var heldBytes: Int {
        RequestMemory.servedBytes(machine.requestBytes) + machine.partialBytes
            + machine.placeBytes
    }

    var keptBytes: Int { machine.keptBytes }

    var deadline: NIODeadline? { machine.deadline.map { start + TimeAmount($0) } }

    func reachDeadline() {
        perform(machine.checkSilence(at: now))
    }

    func close() {
        perform(machine.closed())
        events.close()
        retry?.cancel()
        wake = {}
        memory = nil
        count.change(by: -1)
    }

    private func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .request(let request, let number): connection?.send(request, number: number)
            case .disconnect:
                connection?.close()
                connection = nil
            case .log(let message):
                logger.debug(
                    "a session ends",
                    metadata: ["namespace": "\(use.namespace.name)", "reason": "\(message)"])
            }
        }
    }
}

/// The number of open sessions of a server.
final class SessionCount: Sendable {
    private let count = Atomic<Int>(0)
    private let gauge = Gauge(label: "larder_realtime_sessions")

    func change(by change: Int) {
        gauge.record(count.wrappingAdd(change, ordering: .relaxed).newValue)
    }
}
