package import LarderCore
package import LarderRealtimeRemote
import Synchronization

extension TreeServer: RealtimeRemote {
    nonisolated func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        connect(request, on: Channel(handler))
    }

    nonisolated func connect(_ request: ConnectRequest, on channel: Channel) -> BackendConnection {
        perform(for: channel, isRead: false) { $0.open(channel, request) }
        return BackendConnection(server: self, channel: channel)
    }
}

extension RealtimeBackend {
    /// Opens a connection that is served as far as its client takes the answers.
    ///
    /// - Parameters:
    ///   - room: the size of the events on their way to the client, in bytes, beyond which its
    ///     requests wait; the owner reports what the client takes.
    ///   - memory: the account of the connection, which what the session holds is charged to.
    package func connect(
        _ request: ConnectRequest, to namespace: String, room: Int, memory: MemoryAccount?,
        _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> BackendConnection {
        server(of: namespace).connect(
            request, on: Channel(room: room, memory: memory, handler))
    }
}

/// A client's end of a connection; the connection ends with it.
package final class BackendConnection: RealtimeConnection {
    private let server: TreeServer
    private let channel: Channel

    init(server: TreeServer, channel: Channel) {
        self.server = server
        self.channel = channel
    }

    deinit { close() }

    package func send(_ request: RealtimeRequest, number: Int) {
        server.perform(for: channel, isRead: request.isRead) { [channel] in
            $0.serve(request, number: number, from: channel)
        }
    }

    /// Reports that the client has taken events of a size.
    package func took(_ bytes: Int) {
        if channel.took(bytes) { server.resume(channel) }
    }

    package func close() {
        guard channel.mute() else { return }
        server.cancelReads(of: channel)
        server.perform(for: channel, isRead: false) { [channel] in $0.connectionClosed(channel) }
    }
}

/// The way from a server to the handler of one connection.
final class Channel: Sendable {
    /// The account of the connection's memory; nil to charge nothing.
    let memory: MemoryAccount?
    private let handler: @Sendable (ConnectionEvent) -> Void
    private let isOpen = Atomic<Bool>(true)
    private let room: Int
    /// The size of the events that the client has not taken; not counted without a limit.
    private let pending = Atomic<Int>(0)

    /// - Parameters:
    ///   - room: the size of events beyond which the client's requests wait.
    ///   - memory: the account of the connection's memory.
    init(
        room: Int = .max, memory: MemoryAccount? = nil,
        _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.handler = handler
        self.room = room
        self.memory = memory
    }

    /// What identifies the client among those that take turns.
    var id: ObjectIdentifier { ObjectIdentifier(self) }

    /// True once no more events are delivered.
    var isMute: Bool { !isOpen.load(ordering: .acquiring) }

    /// True while the client's requests are to wait.
    var isFull: Bool { pending.load(ordering: .relaxed) > room && !isMute }

    /// Notes that an event will be delivered.
    func add(_ event: ConnectionEvent) {
        if room < .max { pending.add(event.estimatedBytes, ordering: .relaxed) }
    }

    /// Notes that the client has taken events of a size.
    ///
    /// - Returns: true if it has room again.
    func took(_ bytes: Int) -> Bool {
        guard room < .max, bytes > 0 else { return false }
        let (old, new) = pending.wrappingSubtract(bytes, ordering: .relaxed)
        return old > room && new <= room
    }

    /// Calls the handler, unless the channel is mute; it is after an event that ends the
    /// connection.
    func deliver(_ event: ConnectionEvent) {
        switch event {
        case .opened, .response, .push:
            if !isMute { handler(event) }
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
