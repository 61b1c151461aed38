import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime
import Synchronization

/// An ended session whose operations are being made: as many as fit into a slice at a time, with other
/// clients' requests in between.
///
///     ended ──► making ⇄ stored with the progress ──► made
///                  └── the storage fails, the server is killed ──► made from the stored progress on
struct Ending {
    let session: BackendSession
    /// What is to be made, in an order that does not depend on how it was registered.
    let writes: [SessionWrite]
    /// The time of the end, in milliseconds since the Unix epoch.
    let time: Int64
    /// Clients that are served when everything is made: those that have ended the session.
    var waiters: [WaitingWork.Client] = []
}

extension TreeServer {
    /// How long a closing server makes operations of ended sessions; the others stay stored, and are
    /// made when the namespace is opened again.
    static let closingTime = Duration.seconds(4)

    /// Applies the writes that were left for the end of a session, each with the permissions of the
    /// user who has registered it; what the rules deny by now is left out.
    func beginEnding(_ session: BackendSession) {
        guard !session.operations.isEmpty else { return }
        endings[session.id] = Ending(
            session: session, writes: session.operations.writes, time: now)
        continueEnding(session.id)
    }

    private func continueEnding(_ id: String) {
        guard let ending = endings[id] else { return }
        let (session, writes) = (ending.session, ending.writes)
        let end = scheduler.uptime + WaitingWork.sliceTime
        while session.madeCount < writes.count {
            make(writes[session.madeCount], at: ending.time)
            session.madeCount += 1
            if scheduler.uptime >= end { break }
        }
        guard session.madeCount >= writes.count else {
            noteProgress(session.madeCount, of: session)
            perform(for: session.channel.id) { $0.continueEnding(id) }
            return finishClosing()
        }
        noteEndWritten(session)
        endings[id] = nil
        release(ending.waiters)
        finishClosing()
    }

    private func make(_ operation: SessionWrite, at time: Int64) {
        let write = TreeWrite(operation.value.path, operation.value.node)
            .resolved(at: time, in: tree)
        let result = write.applied(to: tree)
        if mayWrite(write, operation.user, at: time, result) {
            replaceTree(with: result, after: write)
        }
    }

    private func release(_ clients: [WaitingWork.Client]) {
        waiting.withLock { waiting in
            for client in clients { waiting.queue.release(client) }
        }
    }

    /// Lets a client wait until the operations of an ended session are made.
    ///
    /// - Parameter body: done then; not called otherwise.
    /// - Returns: false if there is nothing to wait for.
    func wait(
        for session: String, _ channel: Channel,
        _ body: @escaping @Sendable (isolated TreeServer) -> Void
    ) -> Bool {
        guard endings[session] != nil else { return false }
        endings[session]?.waiters.append(channel.id)
        waiting.withLock { waiting in
            let work = WaitingWork.Work(channel: channel, body: body)
            waiting.queue.putBack(work, of: channel.id)
            waiting.queue.hold(channel.id)
        }
        return true
    }

    /// Notes that the operations which the turn has made are stored.
    func confirmEndings() {
        for ending in endings.values { ending.session.confirmedCount = ending.session.madeCount }
    }

    /// Takes back the operations which the turn has made, because they could not be stored.
    ///
    /// - Returns: the ended sessions.
    func revertEndings() -> [BackendSession] {
        let sessions = endings.values.map(\.session).sorted { $0.number < $1.number }
        for ending in endings.values { release(ending.waiters) }
        endings = [:]
        finishClosing()
        return sessions
    }

    /// Calls the completions of ``TreeServer/close(_:)`` if all operations are made, or the time is
    /// over.
    ///
    /// The operations that are made must be stored.
    func finishClosing() {
        guard let (deadline, completions) = closing,
            endings.isEmpty || scheduler.uptime >= deadline
        else { return }
        (closing, endings) = (nil, [:])
        deliverLater(.answer(RealtimeResponse(.ok)) { _ in for done in completions { done() } })
    }
}
