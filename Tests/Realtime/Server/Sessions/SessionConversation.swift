import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeServer
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderRuntime
import LarderSharedTestSupport

/// A backend, and clients that exchange the texts of messages with it.
final class SessionWorld {
    let scheduler = ManualScheduler<RealtimeBackend.Timer>()
    let backend: RealtimeBackend
    let pushFrames = PushFrames()

    init(_ configure: (inout RealtimeBackendConfiguration) -> Void = { _ in }) {
        var configuration = RealtimeBackendConfiguration()
        configuration.scheduler = scheduler
        let clock = scheduler.clock
        configuration.clock = { clock.timestamp }
        configuration.makeIdentity = { 35 }
        configure(&configuration)
        backend = RealtimeBackend(configuration)
    }

    func connect(
        lastSession: String? = nil, _ configuration: SessionConfiguration = SessionConfiguration()
    ) -> SessionClient {
        SessionClient(self, lastSession, configuration)
    }
}

/// A client of one session.
final class SessionClient {
    private let world: SessionWorld
    private let events = Box<[ConnectionEvent]>([])
    private var machine: SessionMachine
    private var connection: (any RealtimeConnection)?
    private(set) var logs: [String] = []

    init(_ world: SessionWorld, _ lastSession: String?, _ configuration: SessionConfiguration) {
        self.world = world
        machine = SessionMachine(
            configuration, host: "localhost:9000", pushFrames: world.pushFrames, at: .zero)
        let events = events
        connection = world.backend.remote().connect(ConnectRequest(lastSessionID: lastSession)) {
            event in events.withLock { $0.append(event) }
        }
        world.scheduler.drain()
    }

    /// Sends frames; what the server sends then, one message per element.
    func send(_ frames: String..., at now: Duration = .zero) -> [String] {
        for frame in frames {
            perform(machine.received(Array(frame.utf8), at: now))
            world.scheduler.drain()
        }
        return received()
    }

    /// Sends a message; what the server sends then.
    func send(_ message: ClientMessage) -> [String] {
        guard let frames = MessageFrames(message.text) else { return [] }
        var received: [String] = []
        for frame in frames { received += send(String(decoding: frame, as: UTF8.self)) }
        return received
    }

    func received() -> [String] {
        for event in events.withLock({ events in
            defer { events = [] }
            return events
        }) {
            perform(machine.received(event))
        }
        var assembler = FrameAssembler(maximumBytes: 1 << 30)
        var messages: [String] = []
        while let output = machine.next() {
            switch output {
            case .frame(let frame):
                if let text = try? assembler.add(Array(frame)) {
                    messages.append(String(decoding: text, as: UTF8.self))
                }
            case .perform(let actions): perform(actions)
            case .close: messages.append("close")
            }
        }
        return messages
    }

    /// Lets the backend's events arrive without reading from the socket.
    func fill() {
        let arrived = events.withLock { events in
            defer { events = [] }
            return events
        }
        for event in arrived { perform(machine.received(event)) }
    }

    func checkSilence(at now: Duration) -> [String] {
        perform(machine.checkSilence(at: now))
        world.scheduler.drain()
        return received()
    }

    func breakSocket() {
        perform(machine.closed())
        world.scheduler.drain()
    }

    var wantsInput: Bool { machine.wantsInput }
    var deadline: Duration? { machine.deadline }

    private func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .request(let request, let number): connection?.send(request, number: number)
            case .disconnect: connection?.close()
            case .log(let text): logs.append(text)
            }
        }
    }
}
