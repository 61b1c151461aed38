import DequeModule
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

/// The windows of a session that have changed and are not computed yet, and the responses that follow
/// them.
///
///     write ──► changes of windows, within a slice of time
///       └─────► windows of the rest ──► the session's turn ──► their contents as of then
///
/// A write that changes thousands of windows keeps others waiting no longer than a slice. A window
/// that changes again before the session's turn is computed once.
struct UnsentWindows {
    enum Entry {
        case window(QuerySpec, ListenRegistry.Listener)
        case response(RealtimeResponse, number: Int)
    }

    private var entries: Deque<Entry> = []

    /// True if nothing waits.
    var isEmpty: Bool { entries.isEmpty }

    /// Adds the window of a listen that has none here.
    mutating func add(_ query: QuerySpec, of listener: ListenRegistry.Listener) {
        listener.isUnsent = true
        entries.append(.window(query, listener))
    }

    mutating func add(_ response: RealtimeResponse, to number: Int) {
        entries.append(.response(response, number: number))
    }

    /// Takes the first entry; windows of listens that have ended are left out.
    mutating func next() -> Entry? {
        while let entry = entries.popFirst() {
            guard case .window(_, let listener) = entry else { return entry }
            guard listener.isUnsent else { continue }
            listener.isUnsent = false
            return entry
        }
        return nil
    }
}

extension TreeServer {
    /// Sends the content of a query in the turn of its session.
    func sendLater(_ query: QuerySpec, to listener: ListenRegistry.Listener) {
        let session = listener.session
        if session.unsent.isEmpty { scheduleUnsent(of: session.channel) }
        session.unsent.add(query, of: listener)
    }

    private func scheduleUnsent(of channel: Channel) {
        perform(for: channel, isRead: true) { $0.sendUnsent(to: channel) }
    }

    /// Sends what waits for a session's turn, as far as it takes no longer than a slice and the client
    /// has room.
    private func sendUnsent(to channel: Channel) {
        guard let session = sessions[channel] else { return }
        let end = scheduler.uptime + WaitingWork.sliceTime
        while !channel.isFull, let entry = session.unsent.next() {
            switch entry {
            case .window(let query, let listener):
                switch content(of: query, for: channel) {
                case .success(let node):
                    send(.push(.overwrite(query.path, node, tag: listener.tag)), to: channel)
                case .failure: revoke(ListenKey(query: query, tag: listener.tag), session)
                }
            case .response(let response, let number):
                respondNow(response, to: number, of: channel)
            }
            if scheduler.uptime >= end { break }
        }
        if !session.unsent.isEmpty { scheduleUnsent(of: channel) }
    }
}
