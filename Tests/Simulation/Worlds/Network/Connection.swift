import LarderModel
import SimulationSupport

/// A stream that a network can break or resume.
protocol Breakable: AnyObject {
    /// Ends it with an error at both ends.
    func breakOff(_ error: LarderError)

    /// Resumes after a silence.
    func resume()
}

/// A stream between a client and a backend: a line in each direction, with faults.
///
/// A stream that breaks loses the messages in transit; each end is notified after a while. Requests
/// that have arrived at the backend by then are served, and their answers are lost.
final class Connection<Request: Sendable, Event: Sendable>: Breakable, @unchecked Sendable {
    // One thread runs a world.

    /// The backend's end of an open stream.
    struct BackendEnd {
        /// Takes a request.
        let send: (Request) -> Void
        /// Ends the stream.
        let close: () -> Void
    }

    /// The differences of the kinds of stream.
    struct Kind {
        /// Its name in the journal.
        let name: String
        /// Opens the backend's end.
        let open: (@escaping @Sendable (Event) -> Void) -> BackendEnd
        /// Makes the event of the end, and recognises it.
        let closed: (LarderError?) -> Event
        let isEnd: (Event) -> Bool
        /// Observes what leaves the client, what reaches the backend, and its answers.
        let sent: (Request) -> Void
        let arrived: (Request) -> Void
        let answered: (Event) -> Void
        /// The fault of an event's arrival at the client; nil for none.
        let loss: (Event) -> Fault?
        /// True if an event alone is lost, which violates a network's contract.
        let isSwallowed: (Event) -> Bool
        /// A request or an event on one line.
        let requestText: (Request) -> String
        let eventText: (Event) -> String
    }

    private enum Message {
        case open
        case request(Request)
        case close
    }

    private let network: FaultyNetwork
    private let kind: Kind
    private let number: Int
    private let handler: (Event) -> Void
    private var toBackend: Line<Message>?
    private var toClient: Line<Event>?
    private var backendEnd: BackendEnd?
    private var isBroken = false
    private var isClosed = false

    /// Starts to open a stream.
    ///
    /// - Parameter handler: the client's.
    init(_ network: FaultyNetwork, _ kind: Kind, _ handler: @escaping (Event) -> Void) {
        self.network = network
        self.kind = kind
        self.handler = handler
        number = network.newStreamNumber()
        toBackend = Line(network) { [weak self] in self?.arriveAtBackend($0) }
        toClient = Line(network) { [weak self] in self?.arriveAtClient($0) }
        network.add(self)
        note("is asked for")
        toBackend?.send(.open)
    }

    private func note(_ line: @autoclosure () -> String) {
        network.journal.note("client \(network.number) \(kind.name) \(number) \(line())")
    }

    // MARK: The client's side

    func send(_ request: Request) {
        guard !isClosed else { return }
        kind.sent(request)
        note("-> \(kind.requestText(request))")
        toBackend?.send(.request(request))
    }

    /// The client ends the stream; requests in transit may still arrive.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        note("is closed")
        // An event that another thread was delivering may still arrive.
        if !isBroken, network.chance.oneIn(3), let toClient, !toClient.isEmpty {
            network.events.schedule(after: network.conditions.latency()) { self.toClient?.cut() }
        } else {
            toClient?.cut()
        }
        if !isBroken, network.chance.oneIn(2) {
            toBackend?.send(.close)
        } else {
            toBackend?.cut()
            closeBackendEnd(after: network.conditions.latency())
        }
    }

    private func arriveAtClient(_ event: Event) {
        if isClosed {
            network.journal.note(.lateEvent)
        } else if let loss = kind.loss(event) {
            network.journal.note(loss)
            breakOff(network.error())
            return
        }
        if kind.isSwallowed(event) { return }
        note("<- \(kind.eventText(event))")
        if kind.isEnd(event) {
            isBroken = true
            network.remove(self)
        }
        handler(event)
    }

    // MARK: The backend's side

    private func arriveAtBackend(_ message: Message) {
        switch message {
        case .open:
            if network.conditions.isRefusing {
                network.journal.note(.streamRefused)
                breakOff(LarderError(.unavailable, "the connection was refused"))
                return
            }
            backendEnd = kind.open { [weak self] in self?.answer($0) }
        case .request(let request):
            if network.faults.happens(.requestLost) {
                network.journal.note(.requestLost)
                breakOff(network.error())
                return
            }
            kind.arrived(request)
            backendEnd?.send(request)
            if network.faults.happens(.answerLost) {
                network.journal.note(.answerLost)
                breakOff(network.error())
            } else if network.faults.happens(.streamEnded) {
                network.journal.note(.streamEnded)
                breakOff(nil)
            }
        case .close:
            closeBackendEnd(after: .zero)
        }
    }

    private func answer(_ event: Event) {
        kind.answered(event)
        if !isBroken { toClient?.send(event) }
    }

    // MARK: The end

    func breakOff(_ error: LarderError) {
        breakOff(Optional(error))
    }

    private func breakOff(_ error: LarderError?) {
        guard !isBroken else { return }
        isBroken = true
        note("breaks: \(error.map { "\($0.kind)" } ?? "in good order")")
        toBackend?.cut()
        toClient?.cut()
        network.events.schedule(after: network.conditions.latency()) {
            if !self.isClosed { self.handler(self.kind.closed(error)) }
        }
        closeBackendEnd(after: network.conditions.latency())
    }

    /// Ends the backend's side once it has answered all requests that arrived, so that the journal
    /// has their commits.
    private func closeBackendEnd(after delay: Duration) {
        network.remove(self)
        network.events.schedule(after: delay) {
            guard let end = self.backendEnd else { return }
            self.network.backend.settle()
            end.close()
            self.backendEnd = nil
        }
    }

    func resume() {
        toBackend?.resume()
        toClient?.resume()
    }
}
