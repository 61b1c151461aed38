package import LarderRealtimeRemote
import Synchronization

/// A server whose every message a test writes.
package final class ScriptedServer: RealtimeRemote {
    private let opened = Mutex<[ScriptedConnection]>([])

    package init() {}

    package func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        let connection = ScriptedConnection(request, handler)
        opened.withLock { $0.append(connection) }
        return connection
    }

    /// All connections so far.
    package var connections: [ScriptedConnection] { opened.withLock { $0 } }
}

/// A connection to a ``ScriptedServer``.
package final class ScriptedConnection: RealtimeConnection {
    /// A request with its number.
    package typealias Sent = (number: Int, request: RealtimeRequest)

    private struct State {
        var sent: [Sent] = []
        var readCount = 0
        var isClosed = false
    }

    /// What the client said when it connected.
    package let request: ConnectRequest
    private let handler: @Sendable (ConnectionEvent) -> Void
    private let state = Mutex(State())

    init(_ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void) {
        self.request = request
        self.handler = handler
    }

    package func send(_ request: RealtimeRequest, number: Int) {
        state.withLock { $0.sent.append((number, request)) }
    }

    package func close() {
        state.withLock { $0.isClosed = true }
    }

    /// True once the client has closed the connection.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The requests since the last call.
    package func read() -> [Sent] {
        state.withLock { state in
            defer { state.readCount = state.sent.count }
            return Array(state.sent[state.readCount...])
        }
    }

    // MARK: Messages

    /// Accepts the connection.
    ///
    /// - Parameter namesID: what identifies the names of writes that the server keeps; nil for none.
    package func open(
        at milliseconds: Int64 = 1_700_000_000_000, session: String = "s1", namesID: String? = nil
    ) {
        handler(
            .opened(
                ServerHello(
                    serverTimeMilliseconds: milliseconds, host: "localhost", sessionID: session,
                    namesID: namesID)))
    }

    /// Answers a request.
    package func answer(
        _ number: Int, _ status: ResponseStatus = .ok, reason: String? = nil,
        payload: RealtimeResponse.Payload = .none
    ) {
        handler(
            .response(
                number: number, RealtimeResponse(status, reason: reason, payload: payload)))
    }

    /// Sends a message that answers nothing.
    package func push(_ push: RealtimePush) {
        handler(.push(push))
    }

    /// Any other event.
    package func raise(_ event: ConnectionEvent) {
        handler(event)
    }
}
