import Dispatch
package import NIOCore
import Synchronization

/// The open connections of a server, and the calls on them; any thread may use it.
package final class OpenConnections: Sendable {
    private enum Phase: Comparable {
        case open, quiescing, closed
    }

    /// The maximum number of connections.
    package struct Limits: Sendable {
        package var total: Int
        /// The maximum number from one address of a client.
        package var perAddress: Int
        /// The number for which the process has files: further clients wait to be accepted.
        package var files: Int

        package init(total: Int = .max, perAddress: Int = .max, files: Int = .max) {
            self.total = total
            self.perAddress = perAddress
            self.files = files
        }
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// The number of connections by the addresses of clients.
        var counts: [String: Int] = [:]
        var phase = Phase.open
    }

    /// One entry for each connection and each call in progress; ``end()`` waits until it is empty.
    private let work = DispatchGroup()
    private let state = Mutex(State())

    let limits: Limits

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// The number of connections.
    package var count: Int { state.withLock { $0.channels.count } }

    /// Registers a connection until it closes; after ``close()`` it is closed immediately.
    ///
    /// - Returns: false, without effect, at a limit.
    package func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        // Clients of a socket in the file system have one address together.
        let address = channel.remoteAddress?.ipAddress ?? ""
        let admitted = state.withLock { state -> Phase? in
            guard state.channels.count < limits.total,
                state.counts[address, default: 0] < limits.perAddress
            else { return nil }
            state.channels[id] = channel
            state.counts[address, default: 0] += 1
            return state.phase
        }
        guard let phase = admitted else { return false }
        work.enter()
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.channels.removeValue(forKey: id)
                let count = state.counts[address, default: 0] - 1
                state.counts[address] = count > 0 ? count : nil
            }
            work.leave()
        }
        // Deferred until the connection is set up.
        if phase > .open { channel.eventLoop.execute { channel.close(promise: nil) } }
        return true
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
