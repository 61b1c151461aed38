import Dispatch
import NIOCore
import Synchronization

/// The connections of a server that are open, and their calls; any thread may use it.
final class OpenConnections: Sendable {
    private enum Phase: Comparable {
        case open, quiescing, closed
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var phase = Phase.open
    }

    /// What the end waits for: each connection and each call enters it, and leaves it.
    let work = DispatchGroup()
    private let state = Mutex(State())

    /// Holds a connection to its end, which comes at once after ``close()``.
    func add(_ channel: any Channel) {
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
        // Not before it is set up.
        if phase > .open { channel.eventLoop.execute { channel.close(promise: nil) } }
    }

    /// Ends each connection when its calls have ended.
    func quiesce() {
        for channel in begin(.quiescing) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Ends all connections, and those that come later.
    func close() {
        for channel in begin(.closed) { channel.close(promise: nil) }
    }

    /// Waits until no connection is open and no call is served.
    func end() async {
        await withCheckedContinuation { continuation in
            work.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// - Returns: the connections that are open.
    private func begin(_ phase: Phase) -> [any Channel] {
        state.withLock { state in
            state.phase = max(state.phase, phase)
            return Array(state.channels.values)
        }
    }
}
