import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderSharedTestSupport

/// A backend behind a network that can be off, with a record of the numbers that were written.
final class SwitchedRemote: RealtimeRemote {
    private struct Line: Sendable {
        let connection: any RealtimeConnection
        let isOpen: Box<Bool>
        let handler: @Sendable (ConnectionEvent) -> Void
    }

    private let remote: any RealtimeRemote
    private let line = Box<Line?>(nil)
    private let isOn = Box(true)
    /// Called with each number that is sent.
    private let sent: @Sendable (Int64) -> Void

    init(_ remote: any RealtimeRemote, sent: @escaping @Sendable (Int64) -> Void) {
        self.remote = remote
        self.sent = sent
    }

    func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        let isOpen = Box(isOn.withLock { $0 })
        guard isOpen.withLock({ $0 }) else {
            handler(.closed(Self.offline))
            return Connection(nil, isOpen, sent)
        }
        let connection = remote.connect(request) { event in
            if isOpen.withLock({ $0 }) { handler(event) }
        }
        line.withLock { $0 = Line(connection: connection, isOpen: isOpen, handler: handler) }
        return Connection(connection, isOpen, sent)
    }

    /// Ends the connection, if there is one, and refuses others until the network is on again.
    ///
    /// - Parameter tells: false for a client that was killed.
    func turn(on: Bool, tells: Bool = true) {
        isOn.withLock { $0 = on }
        let cut = line.withLock { line in
            defer { line = nil }
            return line
        }
        guard let cut, cut.isOpen.withLock({ $0 }) else { return }
        cut.isOpen.withLock { $0 = false }
        cut.connection.close()
        if tells { cut.handler(.closed(Self.offline)) }
    }

    private static let offline = LarderError(realtime: .unavailable, "the network is off")

    private final class Connection: RealtimeConnection {
        private let connection: (any RealtimeConnection)?
        private let isOpen: Box<Bool>
        private let sent: @Sendable (Int64) -> Void

        init(
            _ connection: (any RealtimeConnection)?, _ isOpen: Box<Bool>,
            _ sent: @escaping @Sendable (Int64) -> Void
        ) {
            self.connection = connection
            self.isOpen = isOpen
            self.sent = sent
        }

        func send(_ request: RealtimeRequest, number: Int) {
            guard isOpen.withLock({ $0 }) else { return }
            if case .put(_, let node, hash: nil) = request.content,
                case .number(let value)? = node.leafValue, let value = value.integer
            {
                sent(value)
            }
            connection?.send(request, number: number)
        }

        func close() {
            isOpen.withLock { $0 = false }
            connection?.close()
        }
    }
}
