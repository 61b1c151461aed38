import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Clients that share a local database")
struct LocalSharingTests {
    private let world: SharingWorld

    init() throws {
        world = try SharingWorld()
    }

    private func open(_ id: String) throws -> SharingClient { try world.open(id, isLocal: true) }

    @Test("final writes of one reach the others, and none is pending")
    func writes() throws {
        let (a, b) = (try open("a"), try open("b"))
        b.listen("all", try .all("c"))
        world.settle()
        #expect(b["all"].last?.isFromCache == false)
        let outcome = a.write([try .set("c/x", 1), try .set("c/y", 2)])
        world.settle()
        #expect(outcome.isAcknowledged && outcome.id == 0)
        #expect(b["all"].documents.keys.map(\.id).sorted() == ["x", "y"])
        #expect(b["all"].last?.hasPendingWrites == false && b["all"].last?.isFromCache == false)
        b.write([Mutation(.delete, at: try DocumentPath("c/x"))])
        a.listen("all", try .all("c"))
        world.settle()
        #expect(a["all"].documents.keys.map(\.id) == ["y"])
        #expect(b["all"].documents.keys.map(\.id) == ["y"])
        let expectation = QueuedWrite.Expectation(path: try DocumentPath("c/y"), document: nil)
        let refused = Mutex<LarderError.Code?>(nil)
        b.client.write(
            [try .set("c/y", 3)], expectations: [expectation],
            committed: { result in
                if case .failure(let error) = result { refused.withLock { $0 = error.kind } }
            }, acknowledged: { _ in })
        world.settle()
        #expect(refused.withLock { $0 } == .aborted)
        #expect(try a.client.pendingWrites().isEmpty)
    }

    @Test("while one has it open, another does not open it otherwise")
    func exclusion() throws {
        let a = try open("a")
        world.settle()
        let error = #expect(throws: LarderError.self) { try world.open("b") }
        #expect(error?.kind == .failedPrecondition)
        a.write([try .set("c/x", 1)])
        world.settle()
        world.close(a)
        let refused = #expect(throws: LarderError.self) { try world.open("b") }
        #expect(refused?.message.contains("localData") == true)
        let again = try open("c")
        world.settle()
        #expect(try again.client.document(at: try DocumentPath("c/x")) != nil)
    }

    @Test("a cache in use does not become a local database")
    func cacheInUse() throws {
        let a = try world.open("a")
        world.settle()
        let error = #expect(throws: LarderError.self) { try open("b") }
        #expect(error?.kind == .failedPrecondition)
        world.close(a)
        _ = try open("b")
    }

    @Test("random clients that write, end and are killed agree on every document")
    func random() throws {
        for _ in 0..<20 {
            var random = SeededRandom()
            var (clients, model, lastName) = ([SharingClient](), [String: Int](), 0)
            func come() throws {
                lastName += 1
                let client = try open("client\(lastName)")
                client.listen("all", try .all("c"))
                clients.append(client)
            }
            try come()
            for number in 0..<80 {
                switch random.below(12) {
                case 0 where clients.count < 4: try come()
                case 1 where clients.count > 1:
                    let client = clients.remove(at: random.below(clients.count))
                    world.settle()
                    if random.oneIn(2) { world.close(client) } else { world.kill(client) }
                case 2: world.pass(.seconds(3))
                case 3: world.settle()
                default:
                    let client = random.pick(clients)
                    let path = "c/\(random.below(8))"
                    if random.oneIn(4) {
                        client.write([Mutation(.delete, at: try DocumentPath(path))])
                        model[path] = nil
                    } else {
                        client.write([try .set(path, number)])
                        model[path] = number
                    }
                    // In the model's order.
                    client.scheduler.drain()
                }
            }
            world.settle()
            world.pass(.seconds(6))
            let expected = model.mapValues { Value.integer(Int64($0)) }
            for client in clients {
                let heard = client["all"].documents
                let shown = Dictionary(
                    uniqueKeysWithValues: try heard.map {
                        ($0.key.string, try #require($0.value.fields["n"]))
                    })
                #expect(shown == expected, "\(client.id), \(random)")
                #expect(try client.client.pendingWrites().isEmpty)
            }
            for client in clients {
                for path in try client.client.run(try .all("c")).documents.map(\.path) {
                    client.write([Mutation(.delete, at: path)])
                }
                world.settle()
                world.close(client)
            }
        }
    }
}
