import LarderCore
import LarderRealtimeRemote
import LarderRuntime
import Synchronization

/// The work of a namespace that waits for its turn.
struct WaitingWork {
    /// Who asked for work; nil stands for the server itself.
    typealias Client = ObjectIdentifier

    /// Work of a client.
    struct Work: Sendable {
        /// The connection that asks for it; nil if it has none.
        var channel: Channel?
        /// True for work that only answers, which is dropped when the connection has ended.
        var isRead = false
        /// Called before and after the work; nil for none.
        var observer: RealtimeBackend.WorkObserver?
        let body: @Sendable (isolated TreeServer) -> Void
    }

    /// The time after which what was done is stored and delivered although more work waits.
    static let sliceTime = Duration.milliseconds(10)

    var queue = FairQueue<Client?, Work>()
    /// True if a slice is scheduled, or runs.
    var isScheduled = false

    /// Notes that work was done; its client waits if its connection has no room for more answers.
    mutating func finish(_ work: Work, of client: Client?, after time: Duration) {
        queue.charge(time, to: client)
        if let client, work.channel?.isFull == true { queue.hold(client) }
    }
}

extension TreeServer {
    /// Enqueues work of a client behind that of the same client; returns immediately.
    ///
    /// - Parameter client: nil for work of the server itself.
    nonisolated func perform(
        for client: WaitingWork.Client? = nil,
        _ body: @escaping @Sendable (isolated TreeServer) -> Void
    ) {
        enqueue(WaitingWork.Work(body: body), of: client)
    }

    /// Enqueues work that a connection asks for.
    nonisolated func perform(
        for channel: Channel, isRead: Bool,
        _ body: @escaping @Sendable (isolated TreeServer) -> Void
    ) {
        enqueue(WaitingWork.Work(channel: channel, isRead: isRead, body: body), of: channel.id)
    }

    private nonisolated func enqueue(_ work: WaitingWork.Work, of client: WaitingWork.Client?) {
        var work = work
        work.observer = configuration.observeWork?()
        waiting.withLock { $0.queue.add(work, of: client) }
        scheduleSliceOnce()
    }

    /// Cancels the reads that a connection has asked for.
    nonisolated func cancelReads(of channel: Channel) {
        waiting.withLock { waiting in
            waiting.queue.removeAll(of: channel.id, where: \.isRead)
            waiting.queue.release(channel.id)
        }
        scheduleSliceOnce()
    }

    /// Serves a connection again that has room for answers.
    nonisolated func resume(_ channel: Channel) {
        waiting.withLock { $0.queue.release(channel.id) }
        scheduleSliceOnce()
    }

    /// Schedules a slice if there is work and none is scheduled.
    nonisolated func scheduleSliceOnce() {
        let starts = waiting.withLock { waiting in
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if starts { scheduleSlice() }
    }

    nonisolated func scheduleSlice() {
        scheduler.run { self.assumeIsolated { $0.runSlice() } }
    }
}
