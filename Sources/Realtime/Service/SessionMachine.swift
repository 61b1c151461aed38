import DequeModule
import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRemote
import LarderRealtimeWire

/// The server's end of a client's WebSocket connection, between its frames and the backend.
///
///     opening --opened--> open --refused, closed, violation, silence, too slow--> ending --> ended
///
/// A pure machine: each event returns the actions that the owner performs, in order. What is sent
/// waits until the owner asks for the next frame.
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
        /// Close the socket.
        case close
    }

    private enum State: Sendable { case opening, open, ending, ended }

    private let configuration: SessionConfiguration
    private let pushFrames: PushFrames
    /// The host by which the client has reached the server.
    private let host: String
    private var state = State.opening
    private var assembler: FrameAssembler
    /// The messages that wait.
    private var waiting: Deque<MessageFrames> = []
    private var waitingBytes = 0
    /// The frames of the message that is being sent.
    private var outgoing: MessageFrames?
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
    }

    /// The size of the messages that wait, with the one that is being sent.
    package var heldBytes: Int { waitingBytes + (outgoing?.byteCount ?? 0) }

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
            return received(try ClientMessage(text))
        } catch {
            return end("the client violates the protocol: \(error.message)")
        }
    }

    private mutating func received(_ message: ClientMessage) -> [Action] {
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
                return [.request(request, number: message.number)]
            } catch {
                let refusal = RealtimeResponse(.failed, reason: error.message)
                guard message.authenticates else { return respond(refusal, to: message.number) }
                refusedAuthentications[message.number] = refusal
                return [.request(.unauthenticate, number: message.number)]
            }
        }
    }

    /// The client closed the socket, or it broke.
    package mutating func closed() -> [Action] {
        guard state != .ended else { return [] }
        let wasConnected = state != .ending
        state = .ended
        (waiting, outgoing) = ([], nil)
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
            return enqueue(.hello(hello))
        case .response(let number, let response): return respond(response, to: number)
        case .push(let push): return enqueue(pushFrames.frames(of: push))
        case .reset(let host): return finish(.reset(host: host))
        case .shutdown(let reason): return finish(.shutdown(reason: reason))
        case .closed(let error): return finish(error.map { .notice($0.message) })
        }
    }

    private mutating func respond(_ response: RealtimeResponse, to number: Int) -> [Action] {
        var response = refusedAuthentications.removeValue(forKey: number) ?? response
        if unansweredListens.remove(number) != nil, response == RealtimeResponse(.ok) {
            response.payload = .json(.object([]))
        }
        return enqueue(.response(ResponseMessage(number: number, response)))
    }

    private mutating func enqueue(_ message: ServerMessage) -> [Action] {
        enqueue(MessageFrames(message.text))
    }

    /// Adds the frames of a message; nil for one that is too large.
    private mutating func enqueue(_ frames: MessageFrames?) -> [Action] {
        guard waitingBytes <= configuration.maxPendingBytes else {
            return end("the client takes less than it is sent")
        }
        guard let frames else {
            return end("the content of a location is larger than a message can be")
        }
        waiting.append(frames)
        waitingBytes += frames.byteCount
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
        (waiting, waitingBytes, outgoing) = ([], 0, nil)
        return [.disconnect, .log(reason)]
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
            if let frame = outgoing?.next() { return .frame(frame) }
            outgoing = nil
            guard let frames = waiting.popFirst() else { break }
            waitingBytes -= frames.byteCount
            outgoing = frames
        }
        guard state == .ending else { return nil }
        state = .ended
        return .close
    }
}
