import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The laws of a remote: the backend in this process")
struct RemoteLawTests {
    @Test("in memory", .timeLimit(.minutes(10)), arguments: RemoteLaw.allCases)
    func inMemory(law: RemoteLaw) async throws {
        let backend = try Backend(BackendConfiguration(project: "p"))
        try await law.check(backend.connection.remote, DatabaseID(project: "p"))
        try await backend.close()
    }

    @Test("in a directory that all laws share", .timeLimit(.minutes(10)))
    func onDisk() async throws {
        let directory = try TemporaryDirectory()
        let backend = try Backend(
            BackendConfiguration(project: "p", location: .directory(directory.path)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for law in RemoteLaw.allCases {
                group.addTask {
                    try await law.check(backend.connection.remote, DatabaseID(project: "p"))
                }
            }
            try await group.waitForAll()
        }
        try await backend.close()
    }
}

@Suite("Backend: methods for tests and tools")
struct BackendTests {
    @Test("Documents and their number, by collection and in all")
    func counts() throws {
        let backend = try TestBackend()
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 1]), .set("c/a/d/x", [:]))
        try backend.commit(.delete("c/b"))
        #expect(try backend.backend.documentCount() == 2)
        #expect(try backend.backend.documentCount(in: CollectionPath("c")) == 1)
        #expect(try backend.backend.documentCount(in: CollectionPath("e")) == 0)
        #expect(try backend.backend.document(at: DocumentPath("c/b")) == nil)
        #expect(try backend.backend.document(at: DocumentPath("c/a"))?.fields == ["n": 1])
    }

    @Test("Everything is deleted, however much there is")
    func deletion() throws {
        let backend = try TestBackend()
        try backend.commit((0..<1_500).map { try .set("c/d\($0)", ["n": 1]) })
        try backend.commit((0..<1_200).map { try .set("c/a/e/d\($0)", ["n": 1]) })
        try backend.answer { backend.backend.deleteAllDocuments($0) }
        #expect(try backend.backend.documentCount() == 0)
        try backend.commit(.set("c/d1", ["n": 1], .exists(false)))
    }

    @Test("By default a backend works on its own queue")
    func queue() async throws {
        let directory = try TemporaryDirectory()
        let configuration = BackendConfiguration(
            project: "p", location: .directory(directory.path))
        let backend = try Backend(configuration)
        try await backend.deleteAllDocuments()
        #expect(throws: LarderError.self) { try Backend(configuration) }
        try await backend.close()
        let again = try Backend(configuration)
        #expect(try again.documentCount() == 0)
        try await again.close()
    }
}

@Suite("Backend: queries and aggregations")
struct BackendQueryTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
        try backend.commit((0..<20).map { try .set("c/d\($0)", ["n": .integer(Int64($0 % 7))]) })
    }

    private func ids(_ query: Query, stoppingAt count: Int = .max) throws -> [String] {
        var ids: [String] = []
        _ = try backend.backend.runQuery(query, as: Credentials()) {
            ids.append($0.id)
            return ids.count < count ? .continue : .stop
        }
        return ids
    }

    @Test("A query gives its documents in order, until the closure has enough")
    func order() throws {
        var query = Query(.collection(try CollectionPath("c")))
        #expect(try ids(query).count == 20)
        #expect(try ids(query, stoppingAt: 3) == ["d0", "d1", "d10"])
        query.limit = .first(2)
        #expect(try ids(query) == ["d0", "d1"])
        query.limit = .last(2)
        query.explicitOrders = [Order(.documentID)]
        #expect(try ids(query) == ["d8", "d9"])
        query.explicitOrders = [Order(try FieldPath("n"), isDescending: true)]
        query.limit = .first(3)
        #expect(try ids(query) == ["d6", "d13", "d5"])
        query.limit = nil
        #expect(try ids(query, stoppingAt: 2) == ["d6", "d13"])
    }

    @Test("The version is that of the commit that was read")
    func version() throws {
        let query = Query(.collection(try CollectionPath("c")))
        let version = try backend.commit(.set("c/x", ["n": 1])).commitVersion
        let read = try backend.backend.runQuery(query, as: Credentials()) { _ in .stop }
        #expect(read == version)
        let figures = try backend.backend.aggregates([.count], over: query, as: Credentials())
        #expect(figures.version == version)
        #expect(figures.values == [21])
    }

    @Test("Aggregations are returned in the requested order")
    func figures() throws {
        let (field, missing) = (try FieldPath("n"), try FieldPath("x"))
        let query = Query(
            .collection(try CollectionPath("c")),
            filters: [.field(FieldFilter(field, .lessThan, 2))])
        func values(_ aggregates: [Aggregate]) throws -> [Value] {
            try backend.answer {
                backend.backend.aggregate(aggregates, over: query.target, as: Credentials(), $0)
            }
        }
        #expect(try values([.sum(field), .count, .average(field)]) == [3, 6, 0.5])
        // No document has both fields.
        #expect(try values([.sum(field), .count, .average(missing)]) == [0, 0, .null])
    }

    @Test("A query that is not sound is refused")
    func validation() throws {
        var query = Query(.collection(try CollectionPath("c")))
        query.limit = .first(0)
        #expect(code { _ = try ids(query) } == .invalidArgument)
        query.limit = nil
        query.explicitOrders = [Order(.documentID), Order(try FieldPath("n"))]
        #expect(code { _ = try ids(query) } == .invalidArgument)
    }
}
