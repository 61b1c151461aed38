import DequeModule
package import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRemote
import LarderRealtimeWire

/// The server's end of a client's WebSocket connection, between its frames and the backend.
///
///     opening --opened--> open --refused, closed, violation, silence, too slow--> ending --> ended
///
/// A pure machine: each event returns the actions that the owner performs, in order. What is sent
/// waits until the owner asks for the next frame, and is encoded then. Requests that the backend has
/// not answered are in line; the client is read from while they are few, small and light.
package struct SessionMachine: ~Copyable, Sendable {
    /// An action that the owner performs.
    package enum Action: Equatable, Sendable {
        /// Pass a request to the backend's connection.
        case request(RealtimeRequest, number: Int)
        /// Close the backend's connection.
        case disconnect
        /// Log a message.
        case log(String)
    }

    /// What the owner does with the socket.
    package enum Output: Equatable, Sendable {
        /// Send a text frame.
        case frame(ArraySlice<UInt8>)
        /// Perform actions, and ask again.
        case perform([Action])
        /// Close the socket.
        case close
    }

    private enum State: Sendable { case opening, open, ending, ended }

    /// A message that waits.
    private struct Waiting: Sendable {
        /// The memory of a place in the line.
        static let placeBytes = 128

        let message: OutgoingMessage
        /// The size of the backend's event; 0 for another message.
        let eventBytes: Int
    }

    /// A request that the backend has not answered.
    private struct Unanswered: Sendable {
        let bytes: Int
        let work: Int
    }

    private let configuration: SessionConfiguration
    private let pushFrames: PushFrames
    /// The host by which the client has reached the server.
    private let host: String
    private var state = State.opening
    private var assembler: FrameAssembler
    /// The messages that wait.
    private var waiting: Deque<Waiting> = []
    private var waitingBytes = 0
    /// The message that is being sent, with its frames.
    private var outgoing: (message: OutgoingMessage, frames: MessageFrames)?
    /// The requests in line, in the order in which the backend answers them.
    private var unanswered: Deque<Unanswered> = []
    private var line = Unanswered(bytes: 0, work: 0)
    /// The size of the backend's events that were sent since the owner asked.
    private var takenBytes = 0
    /// What messages are charged to.
    private var memory: MemoryAccount?
    /// The listens that are not answered: clients expect an object as the data of their answers.
    private var unansweredListens: Set<Int> = []
    /// The answers to authentications that are not valid, which end the one that the session had.
    private var refusedAuthentications: [Int: RealtimeResponse] = [:]
    private var lastReceived: Duration

    /// A session whose connection to the backend is being opened.
    ///
    /// - Parameter pushFrames: those of the server, which all its sessions share.
    package init(
        _ configuration: SessionConfiguration, host: String, pushFrames: PushFrames,
        at now: Duration
    ) {
        self.configuration = configuration
        self.pushFrames = pushFrames
        self.host = host
        assembler = FrameAssembler(maximumBytes: configuration.maxMessageBytes)
        lastReceived = now
    }

    /// True while more may be read from the client.
    package var wantsInput: Bool {
        state == .open && waitingBytes <= configuration.maxPendingBytesWhileReading
            && line.work < configuration.maxWork && line.bytes < configuration.maxRequestBytes
    }

    /// The size of the requests in line.
    package var requestBytes: Int { line.bytes }

    /// The size of the message that is being received.
    package var partialBytes: Int { assembler.byteCount }

    /// The memory of the places in the lines.
    package var placeBytes: Int { (waiting.count + unanswered.count) * Waiting.placeBytes }

    /// The size of the messages that wait, with the one that is being sent.
    package var keptBytes: Int { waitingBytes + (outgoing?.frames.byteCount ?? 0) }

    /// The estimated size of the next message; 0 if it is encoded already.
    package var nextBytes: Int { unencoded?.estimatedBytes ?? 0 }

    /// Encodes the next message, on any thread; nil if it is encoded already.
    package var encoding: (@Sendable () -> Void)? {
        guard let message = unencoded else { return nil }
        return { _ = message.frames }
    }

    private var unencoded: OutgoingMessage? {
        guard outgoing?.frames.isFinished != false, let message = waiting.first?.message,
            !message.isEncoded
        else { return nil }
        return message
    }

    /// Sets the account that messages are charged to.
    package mutating func charge(to memory: MemoryAccount) {
        self.memory = memory
    }

    /// The size of the backend's events that were sent since the last call.
    package mutating func takeTakenBytes() -> Int {
        defer { takenBytes = 0 }
        return takenBytes
    }

    /// When the client has been silent for too long; nil at the end.
    package var deadline: Duration? {
        state == .opening || state == .open ? lastReceived + configuration.silence : nil
    }
}

// MARK: - The client

extension SessionMachine {
    /// The client sent something that is no text.
    package mutating func receivedOther(at now: Duration) {
        lastReceived = now
    }

    /// The client sent a text frame.
    package mutating func received(_ frame: [UInt8], at now: Duration) -> [Action] {
        guard state == .open || state == .opening else { return [] }
        lastReceived = now
        do throws(LarderError) {
            guard let text = try assembler.add(frame) else { return [] }
            return received(try ClientMessage(text), text.count)
        } catch {
            return end("the client violates the protocol: \(error.message)")
        }
    }

    private mutating func received(_ message: ClientMessage, _ bytes: Int) -> [Action] {
        switch message {
        case .ping: return enqueue(.pong)
        case .request(let message):
            // Applications are not attested here: every such token is accepted.
            if message.action == "appcheck" || message.action == "unappeck" {
                return respond(RealtimeResponse(.ok), to: message.number)
            }
            do throws(LarderError) {
                let request = try message.request()
                if case .listen = request { unansweredListens.insert(message.number) }
                return self.request(request, message.number, bytes)
            } catch {
                let refusal = RealtimeResponse(.failed, reason: error.message)
                guard message.authenticates else { return respond(refusal, to: message.number) }
                refusedAuthentications[message.number] = refusal
                return self.request(.unauthenticate, message.number, bytes)
            }
        }
    }

    private mutating func request(
        _ request: RealtimeRequest, _ number: Int, _ bytes: Int
    ) -> [Action] {
        let added = Unanswered(bytes: bytes, work: request.estimatedWork)
        unanswered.append(added)
        line = Unanswered(bytes: line.bytes + added.bytes, work: line.work + added.work)
        return [.request(request, number: number)]
    }

    /// The backend has answered a request: the oldest, whatever numbers the client has used.
    private mutating func noteAnswer() {
        guard let first = unanswered.popFirst() else { return }
        line = Unanswered(bytes: line.bytes - first.bytes, work: line.work - first.work)
    }

    /// The client closed the socket, or it broke.
    package mutating func closed() -> [Action] {
        guard state != .ended else { return [] }
        let wasConnected = state != .ending
        state = .ended
        clear()
        return wasConnected ? [.disconnect] : []
    }

    /// Ends the session of a client that has been silent for too long.
    package mutating func checkSilence(at now: Duration) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        return end("the client has been silent for \(configuration.silence)")
    }
}

// MARK: - The backend

extension SessionMachine {
    /// The backend's connection has an event.
    package mutating func received(_ event: ConnectionEvent) -> [Action] {
        guard state == .open || state == .opening else { return [] }
        switch event {
        case .opened(var hello):
            state = .open
            hello.host = host
            return enqueue(.hello(hello), of: event)
        case .response(let number, let response):
            noteAnswer()
            return respond(response, to: number, of: event)
        case .push(let push): return enqueue(pushFrames.message(of: push, memory), of: event)
        case .reset(let host): return finish(.reset(host: host))
        case .shutdown(let reason): return finish(.shutdown(reason: reason))
        case .closed(let error): return finish(error.map { .notice($0.message) })
        }
    }

    private mutating func respond(
        _ response: RealtimeResponse, to number: Int, of event: ConnectionEvent? = nil
    ) -> [Action] {
        var response = refusedAuthentications.removeValue(forKey: number) ?? response
        if unansweredListens.remove(number) != nil, response == RealtimeResponse(.ok) {
            response.payload = .json(.object([]))
        }
        return enqueue(.response(ResponseMessage(number: number, response)), of: event)
    }

    /// Adds a message.
    ///
    /// - Parameter event: the backend's event that it reports; nil for none.
    private mutating func enqueue(
        _ message: ServerMessage, of event: ConnectionEvent? = nil
    ) -> [Action] {
        let bytes = event?.estimatedBytes ?? Waiting.placeBytes
        return enqueue(OutgoingMessage(message, estimatedBytes: bytes, memory), of: event)
    }

    private mutating func enqueue(
        _ message: OutgoingMessage, of event: ConnectionEvent?
    ) -> [Action] {
        guard waitingBytes <= configuration.maxPendingBytes else {
            return end("the client takes less than it is sent")
        }
        waiting.append(Waiting(message: message, eventBytes: event?.estimatedBytes ?? 0))
        waitingBytes += message.estimatedBytes
        return []
    }

    /// Ends after a last message; the backend has ended its connection.
    private mutating func finish(_ message: ServerMessage?) -> [Action] {
        if let message { _ = enqueue(message) }
        state = .ending
        return []
    }

    /// Ends for a reason that the client has given.
    private mutating func end(_ reason: String) -> [Action] {
        state = .ending
        clear()
        return [.disconnect, .log(reason)]
    }

    private mutating func clear() {
        (waiting, waitingBytes, outgoing) = ([], 0, nil)
        (unanswered, line) = ([], Unanswered(bytes: 0, work: 0))
        assembler = FrameAssembler(maximumBytes: 0)
    }
}

// MARK: - Sending

extension SessionMachine {
    /// The next frame to send, or the end; nil if nothing waits.
    ///
    /// To be called while the socket takes what is written.
    package mutating func next() -> Output? {
        guard state != .ended else { return nil }
        while true {
            if let frame = outgoing?.frames.next() { return .frame(frame) }
            outgoing = nil
            guard let next = waiting.popFirst() else { break }
            waitingBytes -= next.message.estimatedBytes
            takenBytes += next.eventBytes
            guard let frames = next.message.frames else {
                return .perform(end("the content of a location is larger than a message can be"))
            }
            outgoing = (next.message, frames)
        }
        guard state == .ending else { return nil }
        state = .ended
        return .close
    }
}
