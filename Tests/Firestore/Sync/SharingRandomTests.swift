import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Testing

@Suite("Clients that share a store: anything in any order")
struct SharingRandomTests {
    @Test("In the end every listener has what was written, and one client has the network")
    func worlds() throws {
        var random = SeededRandom()
        do {
            for _ in 0..<20 { try play(seed: random.next()) }
        } catch {
            Issue.record("\(random)")
        }
    }

    private func play(seed: UInt64) throws {
        var run = try SharingRun(seed: seed)
        for _ in 0..<150 { try run.step() }
        try run.comeToRest()
        try run.check()
    }
}

/// A run of three clients, of which any may be killed, closed and opened again.
private struct SharingRun {
    private var random: SeededRandom
    private let world: SharingWorld
    private var openedCount = 0
    private var listenerCount = 0
    /// Every write that some client was asked for, in that order.
    private var writes: [(mutation: Mutation, outcome: SharingClient.Outcome, client: String)] = []
    private var queries: [String: Query] = [:]
    private var cacheListeners: Set<String> = []

    private static let collections = ["c", "d"]

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        world = try SharingWorld()
        for _ in 0..<3 { try open() }
    }

    private mutating func open() throws {
        openedCount += 1
        let client = try world.open("client\(openedCount)", isForeground: random.oneIn(2))
        if random.oneIn(2) { client.scheduler.drain() }
    }

    mutating func step() throws {
        let client = random.pick(world.clients)
        switch random.below(20) {
        case 0..<6: try write(client)
        case 6..<8: try listen(client)
        case 8:
            if let name = client.listeners.randomElement(using: &random) { client.unlisten(name) }
        case 9:
            random.oneIn(2)
                ? client.client.enableNetwork { _ in } : client.client.disableNetwork { _ in }
        case 10: client.client.setForeground(random.oneIn(2))
        case 11: if random.oneIn(3) { client.client.takeLease { _ in } }
        case 12: if random.oneIn(3) { try replace(client) }
        case 13: pass()
        default: break
        }
        // Some clients come to do what they have heard, others later.
        for client in world.clients where random.oneIn(2) { client.scheduler.drain() }
        if random.oneIn(2) { world.drainBackend() }
    }

    /// Lets time pass for some clients; others sleep meanwhile.
    private mutating func pass() {
        world.clock.advance(by: .milliseconds(100 + random.below(random.oneIn(4) ? 9_000 : 900)))
        for client in world.clients where random.oneIn(2) { client.scheduler.fireDue() }
    }

    private mutating func replace(_ client: SharingClient) throws {
        if random.oneIn(2) { world.kill(client) } else { world.close(client) }
        try open()
    }

    private mutating func write(_ client: SharingClient) throws {
        let path = "\(random.pick(Self.collections))/\(random.below(6))"
        let mutation =
            try random.oneIn(4) ? Mutation.delete(path) : .set(path, random.below(10))
        writes.append((mutation, client.write([mutation]), client.id))
    }

    private mutating func listen(_ client: SharingClient) throws {
        guard client.listeners.count < 4 else { return }
        listenerCount += 1
        let name = "\(client.id)/\(listenerCount)"
        let query = try query()
        queries[name] = query
        if random.oneIn(4) { cacheListeners.insert(name) }
        client.listen(name, query, source: cacheListeners.contains(name) ? .cache : .default)
    }

    private mutating func query() throws -> Query {
        let collection = try CollectionPath(random.pick(Self.collections))
        let source = Query.Source.collection(collection)
        let field = try FieldPath("n")
        switch random.below(5) {
        case 0: return Query(.document(try DocumentPath("c/\(random.below(6))")))
        case 1:
            return Query(
                source, filters: [.field(FieldFilter(field, .lessThan, .integer(5)))],
                orders: [Order(field)])
        case 2: return Query(source, orders: [Order(field)], limit: .first(2))
        case 3: return Query(source, orders: [Order(field)], limit: .last(2))
        default: return Query(source)
        }
    }

    /// Lets everybody use the network, and waits until nothing happens any more.
    mutating func comeToRest() throws {
        for client in world.clients { client.client.enableNetwork { _ in } }
        world.settle()
        world.pass(.seconds(120))
    }

    func check() throws {
        try #require(world.primaries.count == 1, "\(world.primaries)")
        let there = try documents()
        for client in world.clients {
            try #require(try client.client.pendingWrites().isEmpty)
            for name in client.listeners { try check(client, name, there) }
        }
        for write in writes where world.clients.contains(where: { $0.id == write.client }) {
            try #require(write.outcome.isAcknowledged)
        }
        try #require(try world.store.check().isClean)
    }

    private func check(
        _ client: SharingClient, _ name: String, _ there: [DocumentPath: Record]
    ) throws {
        let heard = client[name]
        try #require(heard.error == nil)
        let last = try #require(heard.last, "\(name) has heard nothing")
        let query = try #require(queries[name])
        let matcher = try QueryMatcher(query)
        let expected = there.filter { matcher.matches(Self.document($0.key, $0.value)) }
        let told = heard.documents.compactMapValues(\.record)
        try #require(Set(last.documents.map(\.path)) == Set(told.keys), "\(name)")
        if cacheListeners.contains(name) {
            // What a write gave at the backend is not shown before a watch stream confirms it.
            try #require(query.limit != nil || Set(told.keys) == Set(expected.keys), "\(name)")
            return
        }
        try #require(!last.isFromCache && !last.hasPendingWrites, "\(name)")
        switch query.limit {
        case nil: try #require(told == expected, "\(name)")
        case .first(let count)?, .last(let count)?:
            try #require(told.count == min(count, expected.count), "\(name)")
            try #require(told.allSatisfy { expected[$0.key] == $0.value }, "\(name)")
        }
    }

    /// What was written, in the order of the batches, which is that of the backend.
    private func documents() throws -> [DocumentPath: Record] {
        var documents: [DocumentPath: Record] = [:]
        let committed = writes.filter { $0.outcome.id != nil }
        for write in committed.sorted(by: { $0.outcome.id ?? 0 < $1.outcome.id ?? 0 }) {
            documents[write.mutation.path] = write.mutation.record
        }
        return documents
    }

    private static func document(_ path: DocumentPath, _ record: Record) -> Document {
        Document(
            path: path, state: .found, record: record, version: .none, createTime: nil,
            readTime: .none, hasLocalMutations: false, hasCommittedMutations: false,
            largestBatchID: 0, storedBytes: 0)
    }
}
