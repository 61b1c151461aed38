import LarderModel
import LarderQuery
import LarderRemote

extension BackendCore {
    /// How many responses may be ready for a stream whose client asks on without taking any.
    private static let maxReadyCount = 10_000

    /// Begins to serve a watch stream.
    func openWatchStream(
        _ id: StreamID, as credentials: Credentials,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) {
        let session = WatchSession(id, gate(credentials), handler)
        if isClosed { session.close(Self.closed) } else { watchers.add(session) }
    }

    /// Takes a request of a stream, unless that has ended.
    func receive(_ request: WatchRequest, onWatchStream id: StreamID) {
        guard let session = watchers.session(id) else { return }
        switch request {
        case .add(let target):
            guard isFree(target.id, of: session) else { return }
            watchers.add(target, to: session) { () throws(LarderError) in
                for asked in target.all { try check(asked.query, session.gate) }
            }
        case .remove(let targetID): watchers.remove(targetID, from: session)
        }
        serve(session)
    }

    /// Answers a request of a stream for a target that is refused, unless the stream has ended.
    func refuse(_ targetID: Int32, _ error: LarderError, onWatchStream id: StreamID) {
        guard let session = watchers.session(id), isFree(targetID, of: session) else { return }
        watchers.refuse(targetID, of: session, error)
        serve(session)
    }

    /// Whether a target may have a number; a stream that asks for one that is taken is ended.
    private func isFree(_ targetID: Int32, of session: WatchSession) -> Bool {
        if targetID > 0, session.targets[targetID] == nil { return true }
        let error = LarderError.invalidArgument("the target id \(targetID) is not free")
        watchers.end(session.id, telling: error)
        return false
    }

    private func serve(_ session: WatchSession) {
        watchers.serve(session)
        guard session.outbox.readyCount > Self.maxReadyCount else { return }
        let error = LarderError(
            .resourceExhausted, "the stream asks on, and does not take what it is answered")
        watchers.end(session.id, telling: error)
    }

    /// Lets a stream's client have more responses.
    func addDemand(_ count: Int, onWatchStream id: StreamID) {
        guard let session = watchers.session(id) else { return }
        session.add(demand: count)
        watchers.serve(session)
    }

    /// Ends a stream whose client has left.
    func endWatchStream(_ id: StreamID) {
        watchers.end(id)
    }
}
