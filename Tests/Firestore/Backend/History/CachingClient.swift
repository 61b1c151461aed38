import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization

/// A client with a cache of documents, by the rules of Google's JavaScript SDK.
///
/// A document replaces a cached one only if it is newer; a snapshot counts only if it is not older
/// than the last one; a document that is cached and matches, but that the backend does not have in
/// the target, is in limbo and is watched by itself.
final class CachingClient: Sendable {
    fileprivate struct Target {
        let query: Query
        var token: [UInt8] = []
        /// The documents that the backend has in the target, as of the last snapshot.
        var keys: Set<DocumentPath> = []
        /// The same, with what has come since.
        var stagedKeys: Set<DocumentPath> = []
        var stagedToken: [UInt8] = []
        var isCurrent = false
        var isMismatched = false
        /// Requests that are not answered yet.
        var outstanding = 0
    }

    fileprivate struct State {
        var cache: [DocumentPath: DocumentReading] = [:]
        var lastSnapshot = SnapshotVersion.none
        var targets: [Int32: Target] = [:]
        var staged: [DocumentPath: DocumentReading] = [:]
        var outgoing: [WatchRequest] = []
        var limbo: [DocumentPath: Int32] = [:]
        var lastLimboID: Int32 = 999
        var refusals: [LarderError] = []
        var raisedCount = 0
    }

    private let state = Mutex(State())
    private let stream = Mutex<(any WatchStream)?>(nil)

    // MARK: What tests do

    func listen(_ id: Int32, _ query: Query) {
        state.withLock { $0.begin(id, query) }
    }

    /// Forgets the targets, but not the cache.
    func forgetTargets() {
        state.withLock { ($0.targets, $0.limbo) = ([:], [:]) }
    }

    /// Opens a stream, asks for all targets, and takes everything.
    func connect(to backend: TestBackend) {
        stream.withLock { $0?.close() }
        state.withLock { $0.reconnect() }
        let new = backend.backend.openWatchStream(as: Credentials()) { [self] event in
            state.withLock { $0.receive(event) }
        }
        new.demand(.max)
        stream.withLock { $0 = new }
        settle(backend)
    }

    /// Takes everything that the backend has to say.
    func settle(_ backend: TestBackend) {
        backend.run()
        while true {
            let requests = state.withLock { state in
                defer { state.outgoing = [] }
                return state.outgoing
            }
            guard !requests.isEmpty else { return }
            for request in requests { stream.withLock { $0?.send(request) } }
            backend.run()
        }
    }

    func close() {
        stream.withLock { stream in
            stream?.close()
            stream = nil
        }
    }

    // MARK: What it shows

    /// The documents of a target's query in the cache.
    func view(_ id: Int32) -> [String: MapValue] {
        state.withLock { state in
            let shown = state.matches(of: id).compactMap { path in
                state.cache[path]?.record.map { (path.id, $0) }
            }
            return Dictionary(uniqueKeysWithValues: shown)
        }
    }

    /// True if the view may differ from the backend's result.
    func isFromCache(_ id: Int32) -> Bool {
        state.withLock { state in
            guard let target = state.targets[id], target.isCurrent else { return true }
            return state.matches(of: id) != target.keys
        }
    }

    /// The version of a document in the cache.
    func version(_ path: String) throws -> SnapshotVersion? {
        let path = try DocumentPath(path)
        return state.withLock { $0.cache[path]?.version }
    }

    func token(_ id: Int32) -> [UInt8] { state.withLock { $0.targets[id]?.token ?? [] } }

    var refusals: [LarderError] { state.withLock { $0.refusals } }

    /// The number of snapshots that counted.
    var snapshotCount: Int { state.withLock { $0.raisedCount } }
}

extension CachingClient.State {
    fileprivate func matches(of id: Int32) -> Set<DocumentPath> {
        guard let source = targets[id]?.query.source else { return [] }
        return Set(
            cache.values.filter(\.exists).map(\.path).filter { path in
                switch source {
                case .collection(let collection): collection.contains(path)
                case .document(let document): document == path
                case .group(let group): path.collectionGroup == group
                }
            })
    }

    fileprivate mutating func begin(_ id: Int32, _ query: Query) {
        targets[id] = CachingClient.Target(query: query)
        request(id)
    }

    private mutating func request(_ id: Int32) {
        guard let target = targets[id] else { return }
        outgoing.append(
            .add(
                id, target.query, target.token.isEmpty ? .none : .token(target.token),
                expecting: target.token.isEmpty ? nil : target.keys.count))
        targets[id]?.outstanding += 1
    }

    fileprivate mutating func reconnect() {
        (outgoing, staged) = ([], [:])
        for (path, id) in limbo {
            targets[id] = nil
            limbo[path] = nil
        }
        for id in targets.keys.sorted() {
            let keys = targets[id]?.keys ?? []
            targets[id]?.stagedKeys = keys
            targets[id]?.stagedToken = []
            targets[id]?.isCurrent = false
            targets[id]?.outstanding = 0
            request(id)
        }
    }

    fileprivate mutating func receive(_ event: WatchEvent) {
        guard case .response(let response) = event else { return }
        switch response {
        case .targets(let change): receive(change)
        case .document(let reading, let joined, let left):
            var isWanted = false
            for id in joined where isActive(id) {
                isWanted = true
                targets[id]?.stagedKeys.insert(reading.path)
            }
            for id in left where isActive(id) {
                isWanted = true
                targets[id]?.stagedKeys.remove(reading.path)
            }
            if isWanted { staged[reading.path] = reading }
        case .removed(let path, let left):
            for id in left where isActive(id) { targets[id]?.stagedKeys.remove(path) }
        case .unreadable: break
        case .existenceFilter(let id, let count, _):
            guard isActive(id), targets[id]?.stagedKeys.count != count else { return }
            targets[id]?.stagedKeys = []
            targets[id]?.isMismatched = true
        }
    }

    private func isActive(_ id: Int32) -> Bool { targets[id]?.outstanding == 0 }

    private mutating func receive(_ change: TargetChange) {
        switch change.kind {
        case .added: for id in change.targetIDs { targets[id]?.outstanding -= 1 }
        case .removed(let error):
            for id in change.targetIDs {
                if let error {
                    refusals.append(error)
                    targets[id] = nil
                } else {
                    targets[id]?.outstanding -= 1
                }
            }
        case .reset:
            for id in change.targetIDs where isActive(id) {
                targets[id]?.stagedKeys = []
                targets[id]?.isCurrent = false
            }
        case .current, .none:
            let ids = change.targetIDs.isEmpty ? Array(targets.keys) : change.targetIDs
            for id in ids where isActive(id) {
                if change.kind == .current { targets[id]?.isCurrent = true }
                if !change.resumeToken.isEmpty { targets[id]?.stagedToken = change.resumeToken }
            }
            guard change.targetIDs.isEmpty, !change.readTime.isNone,
                change.readTime >= lastSnapshot
            else { return }
            raise(at: change.readTime)
        }
    }

    private mutating func raise(at version: SnapshotVersion) {
        raisedCount += 1
        lastSnapshot = version
        for (path, id) in limbo where targets[id]?.isCurrent == true && staged[path] == nil {
            guard targets[id]?.stagedKeys.contains(path) == false else { continue }
            staged[path] = DocumentReading(path: path, contents: .absent, version: version)
        }
        for (path, reading) in staged {
            // What is older is ignored.
            if let known = cache[path], known.version >= reading.version { continue }
            cache[path] = reading
        }
        staged = [:]
        for id in targets.keys.sorted() {
            guard var target = targets[id] else { continue }
            target.keys = target.stagedKeys
            if !target.stagedToken.isEmpty { target.token = target.stagedToken }
            target.stagedToken = []
            if target.isMismatched { (target.token, target.isCurrent) = ([], false) }
            targets[id] = target
            guard target.isMismatched else { continue }
            targets[id]?.isMismatched = false
            outgoing.append(.remove(targetID: id))
            targets[id]?.outstanding += 1
            request(id)
        }
        updateLimbo()
    }

    private mutating func updateLimbo() {
        var wanted: Set<DocumentPath> = []
        for (id, target) in targets where target.isCurrent && !limbo.values.contains(id) {
            wanted.formUnion(matches(of: id).subtracting(target.keys))
        }
        for (path, id) in limbo where !wanted.contains(path) {
            limbo[path] = nil
            targets[id] = nil
            outgoing.append(.remove(targetID: id))
        }
        for path in wanted.sorted() where limbo[path] == nil {
            lastLimboID += 2
            limbo[path] = lastLimboID
            begin(lastLimboID, Query(.document(path)))
        }
    }
}
