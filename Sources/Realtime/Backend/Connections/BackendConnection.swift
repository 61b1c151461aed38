import LarderRealtimeRemote
import Synchronization

extension TreeServer: RealtimeRemote {
    nonisolated func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        let channel = Channel(handler)
        perform { $0.open(channel, request) }
        return BackendConnection(server: self, channel: channel)
    }
}

/// A client's end of a connection; the connection ends with it.
final class BackendConnection: RealtimeConnection {
    private let server: TreeServer
    private let channel: Channel

    init(server: TreeServer, channel: Channel) {
        self.server = server
        self.channel = channel
    }

    deinit { close() }

    func send(_ request: RealtimeRequest, number: Int) {
        server.perform { [channel] in $0.serve(request, number: number, from: channel) }
    }

    func close() {
        guard channel.mute() else { return }
        server.perform { [channel] in $0.connectionClosed(channel) }
    }
}

/// The way from a server to the handler of one connection.
final class Channel: Sendable {
    private let handler: @Sendable (ConnectionEvent) -> Void
    private let isOpen = Atomic<Bool>(true)

    init(_ handler: @escaping @Sendable (ConnectionEvent) -> Void) {
        self.handler = handler
    }

    /// Calls the handler, unless the channel is mute; it is after an event that ends the
    /// connection.
    func deliver(_ event: ConnectionEvent) {
        switch event {
        case .opened, .response, .push:
            if isOpen.load(ordering: .acquiring) { handler(event) }
        case .reset, .shutdown, .closed:
            if mute() { handler(event) }
        }
    }

    /// Drops all later events.
    ///
    /// - Returns: false if the channel was mute before.
    func mute() -> Bool {
        isOpen.exchange(false, ordering: .acquiringAndReleasing)
    }
}

extension Channel: Hashable {
    static func == (left: Channel, right: Channel) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
