import Foundation
import Larder
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("The API against a plain model")
struct DifferentialTests {
    /// Operations in all; `LARDER_TEST_STEPS` asks for more.
    private static let operations =
        ProcessInfo.processInfo.environment["LARDER_TEST_STEPS"].flatMap { Int($0) } ?? 20_000

    /// Operations on one database, after which another one begins.
    private static let operationsEach = 400

    /// Databases at a time; those on disk wait for it most of the time.
    private static let lanes = 4

    @Test(
        "Random writes, reads, queries, listeners and indexes match the model, pending or local",
        arguments: [false, true])
    func differential(isLocal: Bool) async throws {
        let base = SeededRandom()
        let seed = base.seed
        // A local database is other in its writes, not in what queries find.
        let operations = isLocal ? Self.operations / 2 : Self.operations
        let count = (operations + Self.operationsEach - 1) / Self.operationsEach
        var coverage = DifferentialRun.Coverage()
        try await withThrowingTaskGroup(of: DifferentialRun.Coverage.self) { group in
            for number in 0..<count {
                if number >= Self.lanes, let done = try await group.next() { coverage.add(done) }
                group.addTask { try await Self.run(number, seed, isLocal: isLocal) }
            }
            for try await done in group { coverage.add(done) }
        }
        print("\(isLocal ? "local: " : "")\(coverage); \(base)")
        #expect(coverage.operations >= operations)
        #expect(coverage.found > coverage.queries, "queries find something; \(base)")
        for kind in [
            "index scan", "union", "name range", "collection scan", "group scan",
            "document look-up",
        ] {
            #expect(coverage.plans[kind] ?? 0 > 0, "\(kind) in \(coverage.plans); \(base)")
        }
    }

    /// One database from its beginning to its end.
    private static func run(
        _ number: Int, _ seed: UInt64, isLocal: Bool
    ) async throws -> DifferentialRun.Coverage {
        do {
            let run = try await DifferentialRun(
                SeededRandom(seed: seed &+ UInt64(number) &* 7919), onDisk: number % 2 == 0,
                isLocal: isLocal)
            try await run.run(operationsEach)
            try await run.end()
            return run.coverage
        } catch let violation as DifferentialRun.Violation {
            Issue.record("\(violation)\nin database \(number), \(SeededRandom(seed: seed))")
            throw violation
        }
    }
}

/// Where the documents of a differential run are, and what their fields are called.
struct DifferentialWorld {
    let collections: [CollectionPath]
    let paths: [DocumentPath]
    let fields: [LarderModel.FieldPath]
    /// The database of configurations that name none.
    static let databaseID = DatabaseID(
        project: FirestoreConfiguration.inMemory.project, database: DatabaseID.defaultDatabase)

    init() throws {
        let collections = try ["rooms", "houses/h/rooms", "other", "rooms/a/rooms"]
            .map { try CollectionPath($0) }
        self.collections = collections
        let ids = ["a", "b", "B", "é", "e\u{301}", "_", "~", "10", "9", "a b"]
        // Enough documents in one collection for indexes to be worth their while.
        let more = try (0..<24).map { try collections[0].document("r\($0)") }
        paths =
            try collections.flatMap { collection in try ids.map { try collection.document($0) } }
            + more
        fields =
            ["a", "b", "c", "tags"].map { LarderModel.FieldPath(unchecked: [$0]) }
            + [LarderModel.FieldPath(unchecked: ["m", "x"])]
    }

    func name(_ path: DocumentPath) -> Value {
        .reference(ResourceName(database: Self.databaseID, document: path))
    }

    /// as much of a bound as the API takes: values of explicit orders, names that are in
    /// the collection.
    func bound(_ bound: Bound, for query: LarderQuery.Query) -> Bound? {
        var values: [Value] = []
        for (value, order) in zip(bound.values, query.explicitOrders) {
            if order.path.isDocumentID, case .collection(let collection) = query.source {
                guard case .reference(let name) = value, name.document?.parent == collection else {
                    break
                }
            }
            values.append(value)
        }
        return values.isEmpty ? nil : Bound(values, isInclusive: bound.isInclusive)
    }

    /// a document's values of all orders; nil for one that no query may begin at.
    func values(of path: DocumentPath, _ fields: MapValue, for orders: [Order]) -> [Value]? {
        var values: [Value] = []
        for order in orders {
            guard let value = order.path.isDocumentID ? name(path) : fields.value(at: order.path)
            else { return nil }
            if case .serverTimestamp = value { return nil }
            values.append(value)
        }
        return values
    }
}

/// What a database must hold: cached documents and the writes over them, in plain maps, every
/// write applied again whenever one is taken back.
struct DifferentialModel {
    /// What is known of a document.
    struct State {
        /// The fields; nil for a document that is known not to exist.
        var fields: MapValue?
        /// Whether pending writes made it.
        var isPending = false
    }

    private struct Batch {
        let id: Int64
        let time: Timestamp
        let mutations: [Mutation]
    }

    private(set) var cached: [DocumentPath: MapValue?] = [:]
    private(set) var states: [DocumentPath: State] = [:]
    private var batches: [Batch] = []

    /// The ids of the pending writes, in order.
    var pending: [Int64] { batches.map(\.id) }

    /// The documents that exist.
    private(set) var documents: [DocumentPath: MapValue] = [:]

    /// Puts a document of the backend's, or the knowledge that there is none, into the cache.
    mutating func cache(_ path: DocumentPath, _ fields: MapValue?) {
        cached[path] = .some(fields)
        put(path, State(fields: fields))
    }

    private mutating func put(_ path: DocumentPath, _ state: State?) {
        states[path] = state
        documents[path] = state?.fields
    }

    /// Applies a write that was made at a time.
    mutating func write(_ mutations: [Mutation], at time: Timestamp, as id: Int64) {
        let batch = Batch(id: id, time: time, mutations: mutations)
        batches.append(batch)
        apply(batch)
    }

    /// Applies a write that is final, all of it or nothing.
    ///
    /// - Returns: false for nothing: a document that was to exist does not.
    mutating func write(_ mutations: [Mutation]) -> Bool {
        var changed = self
        for mutation in mutations {
            let before = changed.states[mutation.path]?.fields
            if case .exists(true) = mutation.precondition, before == nil { return false }
            let fields = mutation.committedModelFields(over: before) { transform, old in
                transform.operation.modelEstimate(old, .epoch)
            }
            changed.put(mutation.path, State(fields: fields))
        }
        self = changed
        return true
    }

    /// Takes a write back.
    mutating func cancel(_ id: Int64) {
        batches.removeAll { $0.id == id }
        states = cached.mapValues { State(fields: $0) }
        documents = states.compactMapValues(\.fields)
        for batch in batches { apply(batch) }
    }

    /// Forgets cached documents, but those that pending writes touch; how many there were.
    mutating func evict(_ paths: [DocumentPath]) -> Int {
        let touched = Set(batches.flatMap { $0.mutations.map(\.path) })
        let gone = paths.filter { !touched.contains($0) }
        for path in gone {
            cached[path] = nil
            put(path, nil)
        }
        return gone.count
    }

    private mutating func apply(_ batch: Batch) {
        for mutation in batch.mutations {
            let before = states[mutation.path]?.fields
            if case .exists(true) = mutation.precondition, before == nil { continue }
            let fields = mutation.modelFields(over: before) { transform, old in
                transform.operation.modelEstimate(old, batch.time)
            }
            put(mutation.path, State(fields: fields, isPending: true))
        }
    }
}
