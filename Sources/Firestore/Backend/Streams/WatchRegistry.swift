import Dispatch
import LarderCore
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote

/// The watch streams of a backend and their queries; used only by ``BackendCore``.
final class WatchRegistry {
    let store: Store
    let runner: QueryRunner
    /// The commits up to the last one, to which the core adds before it publishes them.
    var runs: RunHistory
    /// The last commit.
    var version: SnapshotVersion { runs.version }

    private(set) var sessions: [StreamID: WatchSession] = [:]
    /// Whether there are no streams.
    var isEmpty: Bool { sessions.isEmpty }
    private var queries: [ViewID: WatchedQuery] = [:]
    private var ids: [QueryTarget: ViewID] = [:]
    private var dispatch = DispatchIndex()
    private var lastID = 0
    /// Streams with unsent changes.
    private var behind: Set<StreamID> = []
    /// Streams for which there was no memory.
    var starved: Set<StreamID> = []
    /// Calls ``serveStarved()`` after a time.
    let retry: (DispatchTimeInterval) -> Void
    /// Streams in the order in which they receive read times.
    private var rotation: [StreamID] = []

    /// The number of queries evaluated for commits, for tests.
    private(set) var examinedCount = 0

    /// - Parameter retry: calls ``serveStarved()`` after a time.
    init(
        store: Store, runner: QueryRunner, runs: RunHistory,
        retry: @escaping (DispatchTimeInterval) -> Void
    ) {
        self.retry = retry
        self.store = store
        self.runner = runner
        self.runs = runs
    }

    // MARK: Streams

    /// The stream with an ID; nil if it has ended.
    func session(_ id: StreamID) -> WatchSession? { sessions[id] }

    func add(_ session: WatchSession) {
        sessions[session.id] = session
        rotation.append(session.id)
        session.open()
    }

    /// Ends a stream, with an error for its client unless the client has closed it.
    func end(_ id: StreamID, telling error: LarderError? = nil) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        rotation.removeAll { $0 == id }
        behind.remove(id)
        starved.remove(id)
        for (targetID, target) in session.targets {
            unsubscribe(target, targetID, of: id)
        }
        if let error { session.close(error) }
    }

    func endAll(_ error: LarderError) {
        for id in sessions.keys.sorted() { end(id, telling: error) }
    }

    // MARK: Queries

    /// Subscribes a target to its query, which is shared by all subscribers.
    ///
    /// - Parameter memory: is charged for the documents that the query holds, unless another
    ///   subscriber is.
    func subscribe(
        _ subscriber: WatchedQuery.Subscriber, to target: QueryTarget, _ memory: MemoryAccount?
    ) throws(LarderError) -> WatchedQuery {
        if let query = ids[target].flatMap({ queries[$0] }) {
            query.add(subscriber)
            return query
        }
        lastID += 1
        let query = try WatchedQuery(ViewID(number: lastID), target, store, runner, memory)
        query.add(subscriber)
        queries[query.id] = query
        ids[target] = query.id
        dispatch.insert(query.id, target.query)
        return query
    }

    func unsubscribe(_ target: WatchSession.Target, _ targetID: Int32, of stream: StreamID) {
        for query in target.queries {
            query.remove(WatchedQuery.Subscriber(stream: stream, targetID: targetID))
            if let next = query.subscribers.first {
                query.charge(sessions[next.stream]?.memory)
                continue
            }
            query.charge(nil)
            queries[query.id] = nil
            ids[query.target] = nil
            dispatch.remove(query.id, query.target.query)
        }
    }

    // MARK: Commits

    /// Publishes the changes of stored commits, in order, to the streams.
    func publish(_ changes: [CommittedChange]) {
        var told: Set<StreamID> = []
        for (id, changes) in route(changes).sorted(by: { $0.key < $1.key }) {
            guard let query = queries[id] else { continue }
            examinedCount += 1
            do throws(LarderError) {
                let effects = try query.effects(of: changes, store, runner)
                for subscriber in query.subscribers where !effects.isEmpty {
                    for effect in effects {
                        sessions[subscriber.stream]?.tell(effect, to: subscriber.targetID)
                    }
                    told.insert(subscriber.stream)
                }
            } catch {
                for subscriber in query.subscribers {
                    guard let session = sessions[subscriber.stream] else { continue }
                    fail(subscriber.targetID, of: session, error)
                    told.insert(subscriber.stream)
                }
            }
        }
        // A target that the document left earlier gets no second removal, but the document's
        // current state is sent.
        for id in told.union(behind) {
            for change in changes { sessions[id]?.outbox.refresh(change.after) }
        }
        if let quiet = nextInRotation(), told.insert(quiet.id).inserted { quiet.outbox.tellTime() }
        for id in told.sorted() {
            if let session = sessions[id] { serve(session) }
        }
    }

    /// The possibly affected queries with their changes.
    private func route(_ changes: [CommittedChange]) -> [ViewID: [CommittedChange]] {
        var routed: [ViewID: [Int]] = [:]
        for (position, change) in changes.enumerated() {
            dispatch.forEachView(of: change.path, states: change.states) { id in
                // A change can name a query several times, but only consecutively.
                guard routed[id]?.last != position else { return }
                routed[id, default: []].append(position)
            }
        }
        return routed.mapValues { $0.map { changes[$0] } }
    }

    /// The stream that receives a read time with this commit, in turn, so that streams without
    /// changes do not fall behind indefinitely.
    private func nextInRotation() -> WatchSession? {
        guard let id = rotation.first else { return nil }
        rotation.removeFirst()
        rotation.append(id)
        return sessions[id]
    }

    /// Records whether a stream has unsent changes, and their memory.
    func noteProgress(of session: WatchSession) {
        session.settleMemory()
        if session.outbox.hasChanges {
            behind.insert(session.id)
        } else {
            behind.remove(session.id)
        }
    }
}

// MARK: - Watching

extension WatchTarget {
    /// The tokens of the client, for this target and for the last one that it watched.
    fileprivate var tokens: [[UInt8]] {
        var tokens = lastToken.isEmpty ? [] : [lastToken]
        if case .token(let token) = resumption { tokens.append(token) }
        return tokens
    }
}

extension BackendCore {
    /// The maximum number of buffered responses for a client that sends requests without reading.
    private static let maxReadyCount = 10_000

    func openWatchStream(
        _ id: StreamID, as credentials: Credentials, _ flow: WatchFlow?,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) {
        let session = WatchSession(id, rulesCheck(credentials), flow, handler)
        if isClosed { session.close(Self.closed) } else { watchRegistry.add(session) }
    }

    /// Handles a request of a stream, unless it has ended.
    func receive(_ request: WatchRequest, onWatchStream id: StreamID) {
        guard let session = watchRegistry.session(id) else { return }
        switch request {
        case .add(let target):
            guard isFree(target.id, of: session) else { return }
            watchRegistry.add(target, to: session) { () throws(LarderError) in
                for asked in target.all { try check(asked.query, session.rulesCheck) }
                for token in target.tokens { try raiseFloor(for: token) }
            }
        case .remove(let targetID): watchRegistry.remove(targetID, from: session)
        }
        serve(session)
    }

    /// Rejects a target of a stream, unless the stream has ended.
    func refuse(_ targetID: Int32, _ error: LarderError, onWatchStream id: StreamID) {
        guard let session = watchRegistry.session(id), isFree(targetID, of: session) else { return }
        watchRegistry.refuse(targetID, of: session, error)
        serve(session)
    }

    /// Whether a target ID is free; otherwise the stream is ended with an error.
    private func isFree(_ targetID: Int32, of session: WatchSession) -> Bool {
        if targetID > 0, session.targets[targetID] == nil { return true }
        let error = LarderError.invalidArgument("the target ID \(targetID) is in use")
        watchRegistry.end(session.id, telling: error)
        return false
    }

    private func serve(_ session: WatchSession) {
        watchRegistry.serve(session)
        guard session.outbox.readyCount > Self.maxReadyCount else { return }
        let error = LarderError(
            .resourceExhausted, "the client sends requests without reading the responses")
        watchRegistry.end(session.id, telling: error)
    }

    /// Increases the number and the bytes of responses that a stream's client accepts.
    func addDemand(_ count: Int, bytes: Int, onWatchStream id: StreamID) {
        guard let session = watchRegistry.session(id) else { return }
        session.add(demand: count, bytes: bytes)
        watchRegistry.serve(session)
    }

    /// Ends a stream that its client has closed.
    func endWatchStream(_ id: StreamID) {
        watchRegistry.end(id)
    }
}
