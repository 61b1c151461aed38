import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

/// A backend with clients that watch it, and all states that its documents ever had.
final class BackendWatchWorld {
    /// A client and the queries that it asks for.
    private struct Client {
        var probe: WatchProbe
        var queries: [Int32: Query] = [:]
        /// Targets with documents that the backend never sent.
        var spoilt: Set<Int32> = []
        var checkedCount = 0
        /// Whether the client takes all that there is.
        var isFast: Bool
    }

    private let directory: TemporaryDirectory
    private let clock = ManualClock()
    private var backend: TestBackend
    private var random: SeededRandom
    private var clients: [Client] = []
    private var documents: [DocumentPath: MapValue] = [:]
    private var history: [SnapshotVersion: [DocumentPath: MapValue]] = [:]
    private var lastTargetID: Int32 = 0
    private let paths: [DocumentPath]
    private let collections: [CollectionPath]
    private let fields: [FieldPath]
    private(set) var checkedSnapshotCount = 0

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        directory = try TemporaryDirectory()
        backend = try TestBackend(directory: directory.path, clock: clock)
        collections = try ["rooms", "houses/h/rooms", "other"].map { try CollectionPath($0) }
        var paths: [DocumentPath] = []
        for collection in collections {
            for number in 0..<12 { paths.append(try collection.document("d\(number)")) }
        }
        self.paths = paths
        fields = try ["a", "b", "c", "tags"].map { try FieldPath($0) } + [FieldPath("m", "x")]
        for _ in 0..<3 { try commit() }
        for _ in 0..<3 { connect() }
    }

    /// Does something, and checks what clients have heard.
    func step() throws {
        switch random.below(30) {
        case 0..<12: try commit()
        case 12..<15: try commitTogether()
        case 15..<20: try addTarget()
        case 20, 21: removeTarget()
        case 22, 23: try reconnect(random.below(clients.count))
        case 24: if random.oneIn(3) { try restart() }
        case 25:
            if random.oneIn(3) { try backend.backend.forgetDeletes(before: clock.timestamp) }
        case 26: clock.advance(by: .milliseconds(random.below(50)))
        default: random.pick(clients).probe.demand(1 + random.below(30))
        }
        backend.run()
        try check()
    }

    /// Delivers all pending changes to all clients, and compares them with the documents.
    func finish() throws {
        for client in clients { client.probe.demand(1_000_000) }
        try commit()
        backend.run()
        try check()
        for client in clients {
            for (id, query) in client.queries {
                let found = client.probe.mirror.documents(of: id).keys.sorted()
                let naive = NaiveEvaluator(query.target.query).documents(among: documents)
                #expect(found == naive.sorted() || client.spoilt.contains(id))
            }
        }
    }

    // MARK: Writing

    private func mutations() throws -> [Mutation] {
        var mutations: [Mutation] = []
        for _ in 0...random.below(random.oneIn(4) ? 12 : 3) {
            let path = random.pick(paths)
            switch random.below(5) {
            case 0: mutations.append(Mutation(.delete, at: path))
            case 1:
                let fields = random.planningFields()
                mutations.append(
                    Mutation(.patch(try Record(fields), FieldMask(leavesOf: fields)), at: path))
            default:
                mutations.append(Mutation(.set(try Record(random.planningFields())), at: path))
            }
        }
        return mutations
    }

    private func commit() throws {
        let mutations = try mutations()
        note(mutations, try backend.commit(mutations))
    }

    /// Asks for several commits before the backend gets to any of them.
    private func commitTogether() throws {
        let answers = Answers<CommitResponse>()
        var commits: [[Mutation]] = []
        for _ in 0..<3 {
            commits.append(try mutations())
            backend.backend.commit(commits.last ?? [], as: Credentials()) { answers.add($0) }
        }
        backend.run()
        for (mutations, answer) in zip(commits, answers.all) { note(mutations, try answer.get()) }
    }

    private func note(_ mutations: [Mutation], _ response: CommitResponse) {
        for mutation in mutations {
            documents[mutation.path] = mutation.modelFields(over: documents[mutation.path]) {
                _, _ in .null
            }
        }
        history[response.commitVersion] = documents
    }

    // MARK: Watching

    private func connect() {
        let isFast = random.oneIn(2)
        clients.append(
            Client(probe: backend.watch(demand: isFast ? .max : 20), isFast: isFast))
    }

    private func addTarget() throws {
        let names = paths.map { path in
            Value.reference(ResourceName(database: backend.databaseID, document: path))
        }
        var query = random.planningQuery(fields, collections, names: names)
        if random.oneIn(6) { query = Query(.document(random.pick(paths))) }
        guard (try? query.target.query.validate()) != nil,
            (try? query.target.query.validateForService()) != nil
        else { return }
        lastTargetID += 1
        let client = random.below(clients.count)
        clients[client].queries[lastTargetID] = query
        clients[client].probe.send(.add(lastTargetID, query))
    }

    private func removeTarget() {
        let client = random.below(clients.count)
        let ids = clients[client].queries.keys.sorted()
        guard !ids.isEmpty else { return }
        let id = random.pick(ids)
        clients[client].queries[id] = nil
        clients[client].probe.send(.remove(targetID: id))
    }

    /// Opens a new stream that goes on from the last snapshot of the old one.
    private func reconnect(_ position: Int) throws {
        let client = clients[position]
        client.probe.close()
        let last = client.probe.mirror.snapshots.last
        var next = Client(
            probe: backend.watch(demand: client.isFast ? .max : 20), isFast: client.isFast)
        for (id, query) in client.queries.sorted(by: { $0.key < $1.key }) {
            next.queries[id] = query
            guard var known = last?.targets[id], let last, let token = last.tokens[id],
                !token.isEmpty, !client.spoilt.contains(id)
            else {
                next.probe.send(.add(id, query))
                continue
            }
            if random.oneIn(8) {
                next.spoilt.insert(id)
                try spoil(&known, query, last.version)
            }
            next.probe.send(
                .add(
                    id, query, random.oneIn(4) ? .readTime(last.version) : .token(token),
                    expecting: known.count), known: known)
        }
        clients[position] = next
    }

    /// Takes a document from those that a client knows, or adds one that was never there.
    private func spoil(
        _ known: inout [DocumentPath: DocumentReading], _ query: Query, _ version: SnapshotVersion
    ) throws {
        if random.oneIn(2), let path = known.keys.sorted().first {
            known[path] = nil
        } else {
            let path = try DocumentPath("\(random.pick(collections))/stranger")
            known[path] = DocumentReading(
                path: path, contents: .found(try Record([:]), createTime: nil), version: version)
        }
    }

    private func restart() throws {
        try backend.close()
        backend = try TestBackend(directory: directory.path, clock: clock)
        // Opening is a commit of nothing, whose version streams may tell.
        let version = try backend.read(["rooms/nothing"])[0].version
        history[version] = documents
        for position in clients.indices { try reconnect(position) }
    }

    // MARK: Checking

    /// Compares each new snapshot with what the documents were at its version.
    private func check() throws {
        for position in clients.indices {
            let mirror = clients[position].probe.mirror
            #expect(mirror.violations == [])
            for snapshot in mirror.snapshots.dropFirst(clients[position].checkedCount) {
                try check(snapshot, of: clients[position])
            }
            clients[position].checkedCount = mirror.snapshots.count
        }
    }

    private func check(_ snapshot: WatchMirror.Snapshot, of client: Client) throws {
        let state = try #require(history[snapshot.version])
        checkedSnapshotCount += 1
        for (id, query) in client.queries {
            guard let told = snapshot.targets[id] else { continue }
            let expected = NaiveEvaluator(query.target.query).documents(among: state)
            if client.spoilt.contains(id) {
                let isMismatched = client.probe.mirror.targets[id]?.isMismatched ?? false
                #expect(isMismatched || told.keys.sorted() == expected.sorted(), "\(query)")
                continue
            }
            #expect(client.probe.mirror.targets[id]?.isMismatched != true)
            #expect(told.keys.sorted() == expected.sorted(), "\(query)")
            for (path, reading) in told { #expect(reading.record == state[path]) }
        }
    }
}

@Suite("Backend: every snapshot equals the query results at its version")
struct BackendWatchDifferentialTests {
    @Test("Random commits, queries, slow clients, lost streams, restarts", arguments: 0..<8)
    func differential(round: Int) throws {
        let base = SeededRandom()
        let world = try BackendWatchWorld(seed: base.seed &+ UInt64(round) &* 7919)
        for _ in 0..<250 {
            try world.step()
        }
        try world.finish()
        #expect(world.checkedSnapshotCount > 50, "\(base)")
    }
}
