import NIOCore
import Synchronization

/// The connections of a server that are open; any thread may use it.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Holds a connection to its end, which comes at once after ``close()``.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            if !state.isClosed { state.channels[id] = channel }
            return state.isClosed
        }
        if isLate {
            // Not before it is set up: the transport traps where a half of it is let go.
            channel.eventLoop.execute { channel.close(promise: nil) }
            return
        }
        channel.closeFuture.whenComplete { [self] _ in
            _ = state.withLock { $0.channels.removeValue(forKey: id) }
        }
    }

    /// Ends all connections, and those that come later.
    func close() {
        let open = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in open { channel.close(promise: nil) }
    }
}
