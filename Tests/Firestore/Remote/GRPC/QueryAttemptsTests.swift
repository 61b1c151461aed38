import GRPCCore
import LarderBackend
import LarderGRPC
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import Synchronization
import Testing

@Suite("Queries and transactions at the host", .timeLimit(.minutes(10)))
struct QueryAttemptsTests {
    /// A server with documents `c/a`, `c/b`… of a number each, and a connection to it.
    private static func world(_ count: Int64) async throws -> (TestServer, CloudFirestore) {
        let server = try await TestServer.started()
        let mutations = try (0..<count).map { number in
            Mutation(
                .set(try Record(["n": .integer(number)])),
                at: try DocumentPath("c/d\(100 + number)"))
        }
        let cloud = try server.client()
        let transaction = try await cloud.beginTransaction()
        _ = try await cloud.commit(mutations, in: transaction)
        return (server, cloud)
    }

    private static func query(above number: Int64) throws(LarderError) -> QuerySelection {
        var query = Query(.collection(try CollectionPath("c")))
        query.filters = [
            .field(FieldFilter(try FieldPath("n"), .greaterThan, .integer(number)))
        ]
        return QuerySelection(query)
    }

    /// Runs a query, and gives the numbers of what it finds, the waits and the version.
    private static func run(
        _ cloud: CloudFirestore, above number: Int64 = -1, in transaction: [UInt8]? = nil,
        until isEnough: @escaping @Sendable (Int) throws(LarderError) -> Void = {
            _ throws(LarderError) in
        }
    ) async -> (numbers: [Int64], pauses: [Duration], end: Result<SnapshotVersion, LarderError>) {
        let numbers = Awaited<[Int64]>([])
        let pauses = Awaited<[Duration]>([])
        let end: Result<SnapshotVersion, LarderError>
        do throws(LarderError) {
            end = .success(
                try await cloud.runQuery(
                    try query(above: number), in: transaction,
                    // No time passes but that which is waited.
                    uptime: { pauses.value.reduce(.zero, +) },
                    pause: { pause in pauses.change { $0.append(pause) } }
                ) { reading throws(LarderError) in
                    guard case .found(let record, _) = reading.contents,
                        case .integer(let number)? = record[try FieldPath("n")]
                    else { return }
                    numbers.change { $0.append(number) }
                    try isEnough(numbers.value.count)
                })
        } catch {
            end = .failure(error)
        }
        return (numbers.value, pauses.value, end)
    }

    private static func close(_ server: TestServer, _ cloud: CloudFirestore) async throws {
        await cloud.close()
        try await server.close()
    }

    @Test("give documents in their order, as of one moment")
    func documents() async throws {
        let (server, cloud) = try await Self.world(50)
        let all = await Self.run(cloud)
        #expect(all.numbers == Array(0..<50) && all.pauses.isEmpty)
        #expect(try !all.end.get().isNone)
        let none = await Self.run(cloud, above: 100)
        #expect(try none.numbers.isEmpty && !none.end.get().isNone)
        try await Self.close(server, cloud)
    }

    @Test("are tried again while the host is away, later each time")
    func retries() async throws {
        let (server, cloud) = try await Self.world(3)
        let failures = Mutex([
            RPCError.Code.unavailable, .internalError, .resourceExhausted, .deadlineExceeded,
        ])
        server.setGate { _ in
            if let code = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                throw RPCError(code: code, message: "later")
            }
        }
        let answer = await Self.run(cloud)
        #expect(answer.numbers == [0, 1, 2] && answer.pauses.count == 4)
        #expect(zip(answer.pauses, [0.5, 0.75, 30, 30]).allSatisfy { $0 > .seconds($1 * 0.8) })
        #expect(server.calls.value.count { $0.method == "RunQuery" } == 5)
        server.setGate { _ in throw RPCError(code: .unavailable, message: "away") }
        let last = await Self.run(cloud)
        #expect(throws: LarderError.self) { try last.end.get() }
        #expect(server.calls.value.count { $0.method == "RunQuery" } == 10)
        try await Self.close(server, cloud)
    }

    @Test("are not tried again when the host refuses them, or has answered in part")
    func failures() async throws {
        let (server, cloud) = try await Self.world(10)
        server.queryCut.store(4, ordering: .relaxed)
        let cut = await Self.run(cloud)
        #expect(cut.numbers == [0, 1, 2, 3])
        #expect(throws: LarderError.self) { try cut.end.get() }
        // Nothing of it was given.
        server.queryCut.store(0, ordering: .relaxed)
        let again = await Self.run(cloud)
        #expect(again.numbers.count == 10 && again.pauses.count == 1)
        server.setGate { _ in throw RPCError(code: .permissionDenied, message: "no") }
        let refused = await Self.run(cloud)
        let error = #expect(throws: LarderError.self) { try refused.end.get() }
        #expect(error?.kind == .permissionDenied && refused.pauses.isEmpty)
        try await Self.close(server, cloud)
    }

    @Test("end where the closure throws, with its error")
    func closures() async throws {
        let (server, cloud) = try await Self.world(10)
        let answer = await Self.run(cloud) { count throws(LarderError) in
            if count == 3 { throw LarderError(.outOfRange, "enough") }
        }
        #expect(answer.numbers == [0, 1, 2])
        let error = #expect(throws: LarderError.self) { try answer.end.get() }
        #expect(error?.kind == .outOfRange)
        try await Self.close(server, cloud)
    }

    @Test("are refused once the connection is closed")
    func closed() async throws {
        let (server, cloud) = try await Self.world(10)
        await cloud.close()
        let answer = await Self.run(cloud)
        let error = #expect(throws: LarderError.self) { try answer.end.get() }
        #expect(error?.kind == .unavailable && answer.pauses.isEmpty)
        try await server.close()
    }

    @Test("a commit fails if the results of a query in its transaction have changed")
    func transactions() async throws {
        let (server, cloud) = try await Self.world(3)
        let change = Mutation(
            .set(try Record(["n": .integer(7)])), at: try DocumentPath("c/d100"))
        let first = try await cloud.beginTransaction()
        #expect(await Self.run(cloud, in: first).numbers == [0, 1, 2])
        let second = try await cloud.beginTransaction()
        _ = try await cloud.commit([change], in: second)
        let error = await #expect(throws: LarderError.self) {
            try await cloud.commit([change], in: first)
        }
        #expect(error?.kind == .aborted)
        let third = try await cloud.beginTransaction(.readOnly(at: .none))
        try await cloud.rollBack(third)
        let ended = await #expect(throws: LarderError.self) { try await cloud.rollBack(third) }
        #expect(ended?.kind == .invalidArgument)
        try await Self.close(server, cloud)
    }
}
