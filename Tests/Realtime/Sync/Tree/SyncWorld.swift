import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport

/// A sync tree, a server and random traffic between them, with delays and lost connections.
///
/// After each step the world compares what listeners were told with what they must have been told.
struct SyncWorld {
    var random: SeededRandom
    private(set) var tree: SyncTree
    /// What outlives restarts; nil for a client that is not restarted.
    private let cache: MemoryTreeCache?
    private var server: WindowServer
    /// The server's tree as of the last messages that have arrived.
    private var known: Node
    private var requests: [Request] = []
    /// Messages that one step of the server has led to, with its tree after that.
    private var answers: [(messages: [WindowServer.Message], truth: Node)] = []
    private var replicas: [ListenerID: ViewReplica] = [:]
    /// The listens that the client wants, with the numbers of their requests.
    private var activeListens: [WindowServer.Key: Int] = [:]
    private var lastRequest = 0
    private var unanswered: Set<WindowServer.Key> = []
    /// The plain listens that were ended, for each end that the server has not answered: changes of
    /// theirs may follow.
    private var endings: [WindowServer.Key] = []
    /// The hashes of listens that were served while changes of ended ones could follow, by number.
    private var disturbedHashes: [Int: String] = [:]
    private var nextListener: UInt = 1
    private(set) var failures: [String] = []
    private(set) var log: [String] = []

    private enum Request {
        case listen(QuerySpec, tag: Int?, number: Int)
        case unlisten(QuerySpec, tag: Int?)
        case write(PendingWrite)
    }

    init(_ random: SeededRandom, cache: MemoryTreeCache? = nil) {
        self.random = random
        self.cache = cache
        tree = SyncTree(cache?.start())
        let truth = self.random.rooms()
        server = WindowServer(truth)
        known = truth
    }

    /// Makes random steps until something is wrong.
    mutating func run(steps: Int) {
        for _ in 0..<steps where failures.isEmpty { step() }
        while failures.isEmpty, !requests.isEmpty || !answers.isEmpty {
            if !requests.isEmpty { serve() }
            if !answers.isEmpty { receive() }
            check()
        }
    }

    private mutating func note(_ text: String) {
        log.append(text)
    }

    private mutating func step() {
        switch random.below(20) {
        case 0, 1, 2: listen()
        case 3: stopListening()
        case 4...8: write()
        case 9...12: if !requests.isEmpty { serve() }
        case 13...16: if !answers.isEmpty { receive() }
        case 17, 18: writeByOthers()
        default:
            if random.oneIn(4) { disconnect() }
            if cache != nil, random.oneIn(4) { restart() }
        }
        check()
    }
}

// MARK: - The client's side

extension SyncWorld {
    private mutating func listen() {
        let query = random.roomQuery()
        let id = ListenerID(nextListener)
        nextListener += 1
        listen(to: query, id)
    }

    private mutating func listen(to query: QuerySpec, _ id: ListenerID) {
        note("listen \(id.rawValue): \(query)")
        replicas[id] = ViewReplica(query)
        do {
            take(try tree.listen(to: query, Listener(id, Set(TreeEventType.allCases))))
        } catch {
            failures.append("\(error)")
        }
        sendListens()
    }

    private mutating func stopListening() {
        guard let id = replicas.keys.sorted().randomElement(using: &random),
            let replica = replicas.removeValue(forKey: id)
        else { return }
        note("stop \(id.rawValue)")
        tree.stopListening(to: replica.query, id)
        sendListens()
    }

    private mutating func sendListens() {
        for effect in tree.takeListenEffects() {
            switch effect {
            case .listen(let query, let tag):
                let key = WindowServer.Key(query: query, tag: tag)
                if activeListens[key] != nil { failures.append("twice: \(query)") }
                request(key)
            case .unlisten(let query, let tag):
                let key = WindowServer.Key(query: query, tag: tag)
                if activeListens.removeValue(forKey: key) == nil {
                    failures.append("not there: \(query)")
                }
                unanswered.remove(key)
                end(key)
            }
        }
    }

    private mutating func end(_ key: WindowServer.Key) {
        if key.tag == nil { endings.append(key) }
        requests.append(.unlisten(key.query, tag: key.tag))
    }

    private mutating func request(_ key: WindowServer.Key) {
        lastRequest += 1
        activeListens[key] = lastRequest
        unanswered.insert(key)
        requests.append(.listen(key.query, tag: key.tag, number: lastRequest))
    }

    private mutating func write() {
        let (path, change) = random.roomWrite()
        let write = PendingWrite(
            tree.newWriteID(), at: path, change, isVisible: !random.oneIn(8) || change.isMerge)
        note("write \(write)")
        requests.append(.write(write))
        take(tree.write(write, at: 0))
    }

    private mutating func disconnect() {
        note("disconnect")
        tree.connectionLost()
        server.disconnect()
        answers = []
        requests = []
        endings = []
        disturbedHashes = [:]
        for (key, _) in activeListens.sorted(by: { $0.value < $1.value }) { request(key) }
        requests += tree.writes.pending.map { .write($0) }
    }

    /// Ends the client, and lets another with the same cache begin with the same listeners.
    ///
    /// What was up to date must be there at once, without the server.
    private mutating func restart() {
        guard let cache else { return }
        note("restart")
        var settled: [ListenerID: Node] = [:]
        for (id, replica) in replicas where !hasDeepWrites(in: replica.query) {
            settled[id] = expected(replica)
        }
        server.disconnect()
        answers = []
        requests = []
        endings = []
        disturbedHashes = [:]
        activeListens = [:]
        unanswered = []
        tree = SyncTree(cache.start())
        for write in cache.writes.values.sorted(by: { $0.id < $1.id }) {
            tree.restore(write, at: 0)
        }
        for (id, replica) in replicas.sorted(by: { $0.key < $1.key }).shuffled(using: &random) {
            listen(to: replica.query, id)
            guard let node = settled[id] else { continue }
            if replicas[id]?.shows(node) != true {
                failures.append(
                    "after the restart listener \(id.rawValue) of \(replica.query)\nhas  "
                        + "\(replicas[id]?.value as Any)\nmust \(node)")
            }
        }
        requests += tree.writes.pending.map { .write($0) }
    }

    /// True if pending writes change children of a window in part: of children outside the stored
    /// window that shows nothing.
    private func hasDeepWrites(in query: QuerySpec) -> Bool {
        !query.loadsAllData
            && tree.writes.pending.flatMap(\.values).contains {
                $0.path.relative(to: query.path).map { $0.count > 1 } ?? false
            }
    }

    private mutating func take(_ events: [TreeEvent]) {
        for event in events {
            if let problem = replicas[event.listener]?.apply(event) { failures.append(problem) }
        }
        for id in Set(events.map(\.listener)) {
            if let problem = replicas[id]?.endOperation() { failures.append(problem) }
        }
    }
}

// MARK: - The server's side

extension SyncWorld {
    private mutating func serve() {
        switch requests.removeFirst() {
        case .listen(let query, let tag, let number):
            note("serve listen \(query)")
            // Hashes are those of the moment at which the listen is sent.
            let (hash, compound) = tree.hashes(of: query)
            if endings.contains(where: { $0.query.path.overlaps(query.path) }) {
                disturbedHashes[number] = hash
            }
            answers.append(
                (
                    server.listen(
                        query, tag: tag, number: number, hash: hash, compound: compound),
                    server.truth
                ))
            // What was sent is not to be overtaken by what is known later.
            receiveAll()
        case .unlisten(let query, let tag):
            server.unlisten(query, tag: tag)
            let key = WindowServer.Key(query: query, tag: tag)
            if tag == nil { answers.append(([.ended(key)], server.truth)) }
        case .write(let write):
            if random.oneIn(5) {
                note("refuse \(write.id)")
                answers.append(([.refused(write.id)], server.truth))
            } else {
                note("accept \(write.id)")
                let pushes = server.apply(write, &random)
                answers.append((pushes + [.accepted(write.id)], server.truth))
            }
        }
    }

    private mutating func writeByOthers() {
        let (path, change) = random.roomWrite()
        let write = PendingWrite(WriteID(0), at: path, change)
        note("others \(write.values)")
        answers.append((server.apply(write, &random), server.truth))
    }

    private mutating func receiveAll() {
        while !answers.isEmpty, failures.isEmpty { receive() }
    }

    private mutating func receive() {
        let (messages, truth) = answers.removeFirst()
        for message in messages {
            note("receive \(message)")
            switch message {
            case .overwrite(let path, let node, let tag):
                take(tree.serverOverwrite(path, node, tag: tag))
            case .merge(let path, let values, let tag):
                take(tree.serverMerge(path, values, tag: tag))
            case .rangeMerge(let path, let merges, let tag):
                take(tree.serverRangeMerge(path, merges, tag: tag))
            case .completed(let key, let number):
                // Answers to listens that ended in the meantime are ignored.
                let disturbedHash = disturbedHashes.removeValue(forKey: number)
                guard activeListens[key] == number else { continue }
                // The server may have confirmed what the client had before: as ServerListens says.
                if let disturbedHash, tree.hashes(of: key.query).hash != disturbedHash {
                    end(key)
                    request(key)
                    continue
                }
                unanswered.remove(key)
                take(tree.listenCompleted(key.query.path, tag: key.tag))
            case .ended(let key):
                if let index = endings.firstIndex(of: key) { endings.remove(at: index) }
            case .accepted(let id): take(tree.acknowledge(id))
            case .refused(let id): take(tree.revert(id))
            }
        }
        known = truth
    }
}

// MARK: - Checking

extension SyncWorld {
    private mutating func check() {
        for (id, replica) in replicas.sorted(by: { $0.key < $1.key }) {
            checkCompleteness(of: replica)
            guard let shown = expected(replica) else { continue }
            if !replica.shows(shown) {
                failures.append(
                    "listener \(id.rawValue) of \(replica.query)\nhas  "
                        + "\(replica.value as Any)\nmust \(shown)")
            }
        }
    }

    /// What counts as complete is what the query selects of all that the server has, with the
    /// pending writes.
    private mutating func checkCompleteness(of replica: ViewReplica) {
        let query = replica.query
        guard let key = coveringListen(of: query), !unanswered.contains(key),
            let shown = tree.knownValue(of: query), shown.isComplete
        else { return }
        var root = known
        for write in tree.writes.pending where write.isVisible { root = root.setting(write.values) }
        let all = query.parameters.filtered(root.node(at: query.path))
        if shown.node != all {
            failures.append("\(query)\nis complete as \(shown.node)\nmust be      \(all)")
        }
    }

    /// What a listener must show; nil if its listen is not answered.
    private func expected(_ replica: ViewReplica) -> Node? {
        let query = replica.query
        guard let key = coveringListen(of: query), !unanswered.contains(key) else { return nil }
        let server = key.query.parameters.filtered(known.node(at: key.query.path))
        return expected(replica, key, server)
    }

    private func coveringListen(of query: QuerySpec) -> WindowServer.Key? {
        activeListens.keys.first {
            $0.tag == nil && $0.query.path.isAncestorOrEqual(of: query.path)
        }
            ?? activeListens.keys.first { $0.query == query }
    }

    /// What a query selects of the server's data with the pending writes, one after the other; nil
    /// if that depends on children outside the window.
    private func expected(
        _ replica: ViewReplica, _ key: WindowServer.Key, _ server: Node
    ) -> Node? {
        let query = replica.query
        let writes = tree.writes.pending.filter(\.isVisible)
        if key.tag == nil {
            var root = known
            for write in writes { root = root.setting(write.values) }
            return query.parameters.filtered(root.node(at: query.path))
        }
        var children = server
        var known: Set<ChildKey>? = Set(server.children.map(\.key))
        for value in writes.flatMap(\.values) {
            if let rest = query.path.relative(to: value.path) {
                let node = value.node.node(at: rest)
                children = node.isLeaf ? .empty : node
                known = nil
            } else if let rest = value.path.relative(to: query.path), let child = rest.first {
                if rest.count > 1, known?.contains(child) == false,
                    !isAbsent(child, from: server, query.parameters)
                {
                    return nil
                }
                children = children.setting(rest, to: value.node)
                known?.insert(child)
            }
        }
        // What the server has accepted stays while other pending writes make room for it.
        if let known,
            writes.contains(where: { $0.values.contains { query.path.isAncestor(of: $0.path) } })
        {
            for child in replica.value?.children ?? Node.empty.children
            where !known.contains(child.key) {
                children = children.settingChild(child.key, to: child.node)
            }
        }
        return query.parameters.filtered(children.settingPriority(.none))
    }
}

/// True if a window proves that the server has nothing at a child that it lacks.
private func isAbsent(
    _ key: ChildKey, from window: Node, _ parameters: QueryParameters
) -> Bool {
    let limit = parameters.limit
    let isFull = limit.map { window.childCount >= $0.count } ?? false
    guard parameters.index == .key else {
        return parameters.start == nil && parameters.end == nil && !isFull
    }
    // A key before the last one of a full window would be in it.
    let keys = window.children.map(\.key).sorted()
    let bounds = limit?.anchor == .last ? keys.first.map { $0 < key } : keys.last.map { key < $0 }
    return parameters.contains(IndexPosition(.null, key)) && (!isFull || bounds == true)
}

extension PendingWrite.Change {
    fileprivate var isMerge: Bool {
        if case .merge = self { true } else { false }
    }
}
