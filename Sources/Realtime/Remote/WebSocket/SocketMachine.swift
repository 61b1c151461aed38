import DequeModule
import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeWire

/// The client's end of a WebSocket connection to a server.
///
///     connecting --upgraded--> awaitingHello --hello--> open
///         |                         |                     |
///         +---- error, deadline ----+---- reset, shutdown, error, silence ----> ended
///
/// A pure machine: each event returns the actions that the owner performs, in order. Requests wait
/// until the owner asks for the next frame, so that a server that takes none delays them instead
/// of filling the memory.
struct SocketMachine: Sendable {
    /// An action that the owner performs.
    enum Action: Sendable {
        /// Pass an event to the handler of the connection.
        case deliver(ConnectionEvent)
        /// Send a text frame.
        case write(ArraySlice<UInt8>)
        /// Send a ping, which peers answer.
        case ping
        /// Close the connection; because the server has violated the protocol, or in order.
        case close(isViolation: Bool)
        /// Log a message.
        case log(String)
    }

    private enum State: Sendable {
        case connecting, awaitingHello, open, ended
    }

    /// Keeps a connection alive; servers ignore it.
    private static let keepalive = [UInt8(ascii: "0")]

    private let configuration: WebSocketConfiguration
    private let startTime: Duration
    private var state = State.connecting
    private var assembler: FrameAssembler

    private var waiting: Deque<(number: Int, request: RealtimeRequest)> = []
    /// The frames of the message that is being sent.
    private var outgoing: MessageFrames?
    /// The requests for content that are not answered.
    private var contentRequests: Set<Int> = []

    private var lastReceived: Duration
    private var lastSent: Duration
    /// The time of a ping since which the server has sent nothing.
    private var pingTime: Duration?
    /// The time since which the server has taken nothing of what waits to be sent.
    private var stallTime: Duration?

    /// A connection that is being made.
    init(_ configuration: WebSocketConfiguration, at now: Duration) {
        self.configuration = configuration
        assembler = FrameAssembler(maximumBytes: configuration.maxMessageBytes)
        (startTime, lastReceived, lastSent) = (now, now, now)
    }

    /// True once the server has greeted the client, until the end.
    var isOpen: Bool { state == .open }

    /// True at the end.
    var isEnded: Bool { state == .ended }

    /// How long the connection has lasted.
    func duration(at now: Duration) -> Duration { now - startTime }
}

// MARK: - Receiving

extension SocketMachine {
    /// The server has accepted the connection; its greeting follows.
    mutating func upgraded(at now: Duration) {
        guard state == .connecting else { return }
        state = .awaitingHello
        lastReceived = now
    }

    /// The server sent something that is no text: a ping, a pong, or data to be ignored.
    mutating func receivedOther(at now: Duration) {
        lastReceived = now
        pingTime = nil
    }

    /// The server sent a text frame.
    mutating func received(_ frame: [UInt8], at now: Duration) -> [Action] {
        guard state != .ended else { return [] }
        receivedOther(at: now)
        do throws(LarderError) {
            guard let text = try assembler.add(frame) else { return [] }
            return try received(try ServerMessage(text))
        } catch {
            return violation(error)
        }
    }

    private mutating func received(_ message: ServerMessage) throws(LarderError) -> [Action] {
        switch (message, state) {
        case (.hello(let hello), .awaitingHello):
            state = .open
            return [.deliver(.opened(hello))]
        case (.reset(let host), _): return end(.reset(host: host))
        case (.shutdown(let reason), _): return end(.shutdown(reason: reason))
        case (.response(let response), .open):
            let isContent = contentRequests.remove(response.number) != nil
            return [
                .deliver(
                    .response(
                        number: response.number, try response.response(isContent: isContent)))
            ]
        case (.push(let push), .open): return [.deliver(.push(push))]
        case (.notice(let text), _): return [.log("the server says: \(text)")]
        case (.failure(let text), _):
            return end(
                .closed(
                    LarderError(realtime: .internal, "the server refuses a message: \(text)")))
        case (.pong, _): return []
        case (.unknown(let type), _): return [.log("ignored a message of the kind '\(type)'")]
        case (.hello, _), (.response, _), (.push, _):
            throw .invalidMessage("a connection begins with one greeting")
        }
    }
}

// MARK: - Sending

extension SocketMachine {
    /// A request is to be sent.
    mutating func send(_ request: RealtimeRequest, number: Int) {
        if state != .ended { waiting.append((number, request)) }
    }

    /// The next frame to send, or the answer to a request that cannot be sent; nil for none.
    ///
    /// To be called while the connection takes what is written.
    mutating func next(at now: Duration) -> Action? {
        guard state == .open else { return nil }
        while true {
            if let frame = outgoing?.next() {
                lastSent = now
                return .write(frame)
            }
            outgoing = nil
            guard let (number, request) = waiting.popFirst() else { return nil }
            let message = ClientMessage.request(RequestMessage(number: number, request))
            outgoing = MessageFrames(message.text)
            guard outgoing != nil else {
                return .deliver(
                    .response(
                        number: number,
                        RealtimeResponse(.failed, reason: "the request is too large")))
            }
            if case .get = request { contentRequests.insert(number) }
        }
    }

    /// The connection takes what is written, or takes no more for now.
    mutating func writabilityChanged(_ isWritable: Bool, at now: Duration) {
        stallTime = isWritable ? nil : now
    }

    private var isWithinMessage: Bool { outgoing.map { !$0.isFinished } ?? false }
}

// MARK: - Deadlines

extension SocketMachine {
    /// The time at which ``deadlineReached(at:)`` is to be called; later events may postpone it.
    var deadline: Duration? {
        switch state {
        case .ended: return nil
        case .connecting, .awaitingHello: return startTime + configuration.connectTimeout
        case .open:
            return [stallDeadline, pingDeadline, pingTimeForSilence, keepaliveTime]
                .compactMap { $0 }.min()
        }
    }

    private var stallDeadline: Duration? { stallTime.map { $0 + configuration.writeTimeout } }

    private var pingDeadline: Duration? { pingTime.map { $0 + configuration.keepaliveTimeout } }

    /// When a ping is due because the server is silent.
    private var pingTimeForSilence: Duration? {
        pingTime == nil ? configuration.keepaliveInterval.map { lastReceived + $0 } : nil
    }

    /// When a keepalive is due because the client is silent; a message that is under way must not
    /// be interrupted.
    private var keepaliveTime: Duration? {
        isWithinMessage ? nil : configuration.keepaliveInterval.map { lastSent + $0 }
    }

    /// The time of ``deadline`` may have come.
    mutating func deadlineReached(at now: Duration) -> [Action] {
        func isReached(_ time: Duration?) -> Bool { time.map { $0 <= now } ?? false }
        guard isReached(deadline) else { return [] }
        guard state == .open else {
            return failed(
                LarderError(
                    realtime: .unavailable,
                    "the server has not greeted the client within \(configuration.connectTimeout)"))
        }
        if isReached(stallDeadline) {
            return failed(
                LarderError(realtime: .unavailable, "the server takes no more requests"))
        }
        if isReached(pingDeadline) {
            return failed(LarderError(realtime: .unavailable, "the server does not answer"))
        }
        var actions: [Action] = []
        if isReached(keepaliveTime) {
            lastSent = now
            actions.append(.write(Self.keepalive[...]))
        }
        if isReached(pingTimeForSilence) {
            pingTime = now
            actions.append(.ping)
        }
        return actions
    }
}

// MARK: - Ends

extension SocketMachine {
    /// The connection was lost or could not be made, or the server closed it; nil without an error.
    mutating func failed(_ error: LarderError?) -> [Action] {
        end(.closed(error))
    }

    /// The client closes the connection.
    mutating func close() -> [Action] {
        finish() ? [.close(isViolation: false)] : []
    }

    private mutating func violation(_ error: LarderError) -> [Action] {
        guard finish() else { return [] }
        let error = LarderError(
            realtime: .internal, "the server violates the protocol: \(error.message)",
            cause: error)
        return [.deliver(.closed(error)), .close(isViolation: true)]
    }

    private mutating func end(_ event: ConnectionEvent) -> [Action] {
        finish() ? [.deliver(event), .close(isViolation: false)] : []
    }

    /// Ends the connection; false if it has ended before.
    private mutating func finish() -> Bool {
        guard state != .ended else { return false }
        state = .ended
        waiting = []
        outgoing = nil
        contentRequests = []
        assembler = FrameAssembler(maximumBytes: 0)
        return true
    }
}
