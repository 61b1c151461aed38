import Dispatch
package import NIOCore
import Synchronization

/// The open connections of a server, and the calls on them; any thread may use it.
package final class OpenConnections: Sendable {
    private enum Phase: Comparable {
        case open, quiescing, closed
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var phase = Phase.open
    }

    /// One entry for each connection and each call in progress; ``end()`` waits until it is empty.
    private let work = DispatchGroup()
    private let state = Mutex(State())

    package init() {}

    /// Registers a connection until it closes; after ``close()`` it is closed immediately.
    package func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let phase = state.withLock { state in
            state.channels[id] = channel
            return state.phase
        }
        work.enter()
        channel.closeFuture.whenComplete { [self] _ in
            _ = state.withLock { $0.channels.removeValue(forKey: id) }
            work.leave()
        }
        // Deferred until the connection is set up.
        if phase > .open { channel.eventLoop.execute { channel.close(promise: nil) } }
    }

    /// Registers a call in progress.
    package func beginCall() {
        work.enter()
    }

    package func endCall() {
        work.leave()
    }

    /// Closes each connection after its last call.
    package func quiesce() {
        for channel in begin(.quiescing) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Closes all connections, including later ones.
    package func close() {
        for channel in begin(.closed) { channel.close(promise: nil) }
    }

    /// Waits until no connection is open and no call is in progress.
    package func end() async {
        await withCheckedContinuation { continuation in
            work.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// - Returns: the open connections.
    private func begin(_ phase: Phase) -> [any Channel] {
        state.withLock { state in
            state.phase = max(state.phase, phase)
            return Array(state.channels.values)
        }
    }
}
