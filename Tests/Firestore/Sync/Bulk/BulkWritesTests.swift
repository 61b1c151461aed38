import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Bulk writes of a client")
struct BulkWritesTests {
    /// A backend whose answers to batches a test gives.
    private final class BatchRemote: UnansweringRemote {
        typealias Completion = @Sendable (Result<[MutationOutcome], LarderError>) -> Void

        let batches = Mutex<[(mutations: [Mutation], completion: Completion)]>([])

        func openWatchStream(
            as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
        ) -> any WatchStream {
            SpokenRemote().openWatchStream(as: credentials) { _ in }
        }

        func commitEach(
            _ mutations: [Mutation], as credentials: Credentials,
            _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
        ) {
            batches.withLock { $0.append((mutations, completion)) }
        }

        /// The IDs of the documents of the batches that wait for an answer.
        var waiting: [[String]] { batches.withLock { $0.map { $0.mutations.map(\.path.id) } } }

        /// Answers the oldest batch.
        func answer(_ outcome: (Mutation) -> MutationOutcome) {
            let batch = batches.withLock { $0.removeFirst() }
            batch.completion(.success(batch.mutations.map(outcome)))
        }

        func fail(_ error: LarderError) {
            batches.withLock { $0.removeFirst() }.completion(.failure(error))
        }
    }

    private let scheduler = ManualScheduler()
    private let remote = BatchRemote()
    private let finished = Notes<String>()
    private static let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 0))
    private static let success = MutationOutcome.success(MutationResult(version: version))

    private func client() throws -> Client {
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: DatabaseID(project: "test"))
        configuration.scheduler = scheduler
        configuration.remote = remote
        return try Client(configuration)
    }

    private func writes(
        _ client: Client, rate: Int? = nil,
        decide: @escaping BulkWrites.Decision = { $1(false) }
    ) -> BulkWrites {
        BulkWrites(client, initialRate: rate, largestRate: 10_000, decide: decide)
    }

    private func add(_ ids: String..., to writes: BulkWrites) throws {
        for id in ids {
            writes.add(Mutation(.delete, at: try DocumentPath("a/\(id)"))) { [finished] result in
                switch result {
                case .success: finished.add(id)
                case .failure(let error): finished.add("\(id): \(error.kind)")
                }
            }
        }
        scheduler.drain()
    }

    @Test("Each write has its own result, and a flush waits for those before it")
    func results() throws {
        let writes = writes(try client())
        try add("x", to: writes)
        try add("y", "z", to: writes)
        #expect(remote.waiting == [["x"]])
        writes.flush { [finished] in finished.add("flushed") }
        scheduler.drain()
        #expect(remote.waiting == [["x"], ["y", "z"]])
        try add("later", to: writes)
        remote.answer { _ in Self.success }
        #expect(finished.all == ["x"])
        remote.answer { mutation in
            mutation.path.id == "y"
                ? .failure(LarderError(.permissionDenied, "no")) : Self.success
        }
        #expect(finished.all == ["x", "y: permissionDenied", "z", "flushed"])
        scheduler.drain()
        #expect(remote.waiting == [["later"]])
        #expect(writes.counts.succeeded == 2 && writes.counts.failed == 1)
        writes.flush { [finished] in finished.add("flushed again") }
        remote.answer { _ in Self.success }
        #expect(finished.all.suffix(2) == ["later", "flushed again"])
    }

    @Test(
        "A failed write is retried after the backoff, with others that are due, until it is decided"
    )
    func retries() throws {
        let asked = Notes<Int>()
        let writes = writes(try client()) { failure, answer in
            asked.add(failure.failedAttempts)
            answer(failure.failedAttempts < 3)
        }
        try add("x", to: writes)
        try add("y", to: writes)
        #expect(remote.waiting == [["x"]])
        remote.answer { _ in .failure(LarderError(.unavailable, "busy")) }
        scheduler.drain()
        // Nothing is in flight: the next write does not wait for the first one's retry.
        #expect(remote.waiting == [["y"]])
        remote.answer { _ in Self.success }
        scheduler.drain()
        #expect(finished.all == ["y"] && remote.waiting.isEmpty)
        for attempt in 2...3 {
            scheduler.clock.advance(by: .seconds(3))
            scheduler.fireDue()
            #expect(remote.waiting == [["x"]], "attempt \(attempt)")
            remote.fail(LarderError(.aborted, "again"))
            scheduler.drain()
        }
        #expect(asked.all == [1, 2, 3] && finished.all == ["y", "x: aborted"])
        #expect(writes.counts.failed == 1 && writes.counts.succeeded == 1)
        #expect(writes.counts.retries == 2 && writes.counts.pending == 0)
    }

    @Test("The ramp-up holds writes back until the clock allows them")
    func rate() throws {
        let writes = writes(try client(), rate: 2)
        try add("a", "b", "c", to: writes)
        writes.flush { [finished] in finished.add("flushed") }
        scheduler.drain()
        #expect(remote.waiting == [["a", "b"]])
        remote.answer { _ in Self.success }
        scheduler.drain()
        scheduler.clock.advance(by: .seconds(0.49))
        scheduler.fireDue()
        #expect(remote.waiting.isEmpty)
        scheduler.clock.advance(by: .seconds(0.02))
        scheduler.fireDue()
        #expect(remote.waiting == [["c"]])
        remote.answer { _ in Self.success }
        scheduler.drain()
        #expect(finished.all == ["a", "b", "c", "flushed"])
    }

    @Test("The end of the client fails what waits")
    func termination() throws {
        let client = try client()
        let writes = writes(client) { $1(true) }
        try add("x", to: writes)
        try add("y", to: writes)
        remote.answer { _ in .failure(LarderError(.unavailable, "busy")) }
        scheduler.drain()
        writes.flush { [finished] in finished.add("flushed") }
        client.terminate { _ in }
        scheduler.drain()
        scheduler.clock.advance(by: .seconds(3))
        scheduler.fireDue()
        #expect(
            Set(finished.all) == ["x: failedPrecondition", "y: cancelled", "flushed"])
        writes.add(Mutation(.delete, at: try DocumentPath("a/z"))) { [finished] _ in
            finished.add("z")
        }
        #expect(finished.all.last == "z" && writes.counts.pending == 0)
    }

    @Test("Offline, each attempt fails as unavailable")
    func offline() throws {
        let client = try client()
        client.disableNetwork { _ in }
        scheduler.drain()
        let writes = writes(client) { $1($0.failedAttempts < 2) }
        try add("x", to: writes)
        #expect(writes.counts.pending == 1)
        scheduler.clock.advance(by: .seconds(2))
        scheduler.fireDue()
        #expect(finished.all == ["x: unavailable"] && remote.waiting.isEmpty)
    }
}

/// What closures were called with, in order.
private final class Notes<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func add(_ element: Element) { elements.withLock { $0.append(element) } }

    var all: [Element] { elements.withLock { $0 } }
}
