import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import SimulationSupport

/// A connection between a client and the server: a line in each direction, with faults.
///
/// Messages in transit are lost when the connection breaks; each end notices later.
final class SimulatedLink: RealtimeConnection, @unchecked Sendable {
    // One thread runs a world.

    private enum Message {
        case open
        case request(RealtimeRequest, number: Int, RequestRecord?)
        case close
    }

    private let network: LinkNetwork
    private let number: Int
    private let request: ConnectRequest
    private let handler: @Sendable (ConnectionEvent) -> Void
    private var toServer: Line<Message>?
    private var toClient: Line<ConnectionEvent>?
    private var serverEnd: (any RealtimeConnection)?
    private var isBroken = false
    private var isClosed = false
    private var isServerEnding = false
    private var records: [Int: RequestRecord] = [:]

    /// The client's number.
    var client: Int { network.number }
    /// The name of the session, once the server has sent it.
    private(set) var sessionID: String?
    /// The onDisconnect operations of the session.
    var armed = ArmedWrites()
    /// The order of the last request of the application that was sent.
    var lastOrder = 0
    /// The listens that the client has requested and not ended.
    private(set) var listens: [Listen] = []
    /// True if the server has refused listens, which the client may end nevertheless.
    private var hasRefusedListens = false

    /// A listen that the client has requested.
    struct Listen {
        let number: Int
        let query: QuerySpec
        let tag: Int?

        init(_ number: Int, _ query: QuerySpec, _ tag: Int?) {
            (self.number, self.query, self.tag) = (number, query, tag)
        }
    }

    /// Begins to open a connection.
    init(
        _ network: LinkNetwork, number: Int, _ request: ConnectRequest,
        _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        (self.network, self.number, self.request) = (network, number, request)
        self.handler = handler
        toServer = Line(network) { [weak self] in self?.arriveAtServer($0) }
        toClient = Line(network) { [weak self] in self?.arriveAtClient($0) }
        note("is asked for")
        toServer?.send(.open)
    }

    private func note(_ line: @autoclosure () -> String) {
        network.journal.note("client \(network.number) link \(number) \(line())")
    }

    // MARK: The client's side

    func send(_ request: RealtimeRequest, number: Int) {
        guard !isClosed else { return }
        note("-> \(number) \(request.text)")
        let record = network.sending(request, self)
        records[number] = record
        switch request {
        case .listen(let query, let tag, _, _): listens.append(Listen(number, query, tag))
        case .unlisten(let query, let tag):
            if let place = listens.firstIndex(where: { $0.query == query && $0.tag == tag }) {
                listens.remove(at: place)
            } else {
                network.journal.expect(
                    hasRefusedListens, "client \(network.number) ends a listen that it has not")
            }
        default: break
        }
        toServer?.send(.request(request, number: number, record))
    }

    private func noteRefused(_ isRefused: (Listen) -> Bool) {
        hasRefusedListens = true
        listens.removeAll(where: isRefused)
    }

    /// The client ends the connection; what is on its way to the server may still arrive.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        note("is closed")
        toClient?.cut()
        if isBroken { return }
        if network.chance.oneIn(2) {
            toServer?.send(.close)
        } else {
            cutToServer()
        }
    }

    private func arriveAtClient(_ event: ConnectionEvent) {
        switch event {
        case .response(let number, let response):
            if lose(.acknowledgementLost) { return }
            note("<- \(number) \(response.status.rawValue)")
            records[number]?.mayBeAnswered = true
            if response.status != .ok { noteRefused { $0.number == number } }
        case .push(let push):
            if lose(.pushLost) || network.faults.losesPush() { return }
            note("<- \(push.text)")
            if case .rangeMerge = push { network.journal.note(.rangeMerge) }
            if case .listenRevoked(let path, let parameters) = push {
                noteRefused {
                    $0.query.path == path
                        && (parameters ?? $0.query.parameters) == $0.query.parameters
                }
            }
            if case .authenticationRevoked = push { network.journal.note(.tokenExpired) }
        case .opened: break
        case .closed, .reset, .shutdown:
            note("<- ends")
            isBroken = true
            closeServerEnd(after: .zero)
        }
        if !isClosed { handler(event) }
    }

    private func lose(_ fault: RealtimeFault) -> Bool {
        guard network.faults.happens(fault) else { return false }
        network.journal.note(fault)
        breakOff()
        return true
    }

    // MARK: The server's side

    private func arriveAtServer(_ message: Message) {
        switch message {
        case .open:
            if network.conditions.isRefusing {
                network.journal.note(.refused)
                return breakOff()
            }
            network.server.perform(.open(self, lastSession: request.lastSessionID)) { backend in
                serverEnd = backend.remote().connect(request) { [weak self] in self?.answer($0) }
            }
        case .request(let request, let number, let record):
            if lose(.requestLost) { return }
            record?.arrivals += 1
            network.server.perform(.request(self, request, record)) { _ in
                serverEnd?.send(request, number: number)
            }
            _ = lose(.answerLost)
        case .close: closeServerEnd(after: .zero)
        }
    }

    private func answer(_ event: ConnectionEvent) {
        if case .opened(let hello) = event { sessionID = hello.sessionID }
        if !isBroken { toClient?.send(event) }
    }

    // MARK: The end

    /// Drops requests in transit; the server notices the end later.
    func cutToServer() {
        toServer?.cut()
        closeServerEnd(after: network.noticeDelay())
    }

    /// The connection breaks.
    func breakOff() {
        guard !isBroken else { return }
        isBroken = true
        note("breaks")
        toClient?.cut()
        network.events.schedule(after: network.noticeDelay()) {
            if !self.isClosed {
                self.handler(
                    .closed(LarderError(realtime: .unavailable, "the connection was lost")))
            }
        }
        cutToServer()
    }

    private func closeServerEnd(after delay: Duration) {
        guard !isServerEnding else { return }
        isServerEnding = true
        network.events.schedule(after: delay) { [self] in
            network.remove(self)
            guard let end = serverEnd else { return }
            network.server.perform(.end(self)) { _ in end.close() }
            serverEnd = nil
        }
    }

    func resume() {
        toServer?.resume()
        toClient?.resume()
    }
}
