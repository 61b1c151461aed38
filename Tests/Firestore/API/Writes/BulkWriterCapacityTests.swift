import Dispatch
import Larder
import LarderModel
import LarderRemote
import LarderTestSupport
import Synchronization
import Testing

@Suite("The capacity of bulk writers")
struct BulkWriterCapacityTests {
    /// A backend that commits batches when a test says so.
    private final class HeldRemote: UnansweringRemote {
        typealias Completion = @Sendable (Result<[MutationOutcome], LarderError>) -> Void

        let batches = Awaited<[(count: Int, completion: Completion)]>([])

        func openWatchStream(
            as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
        ) -> any WatchStream {
            SpokenRemote().openWatchStream(as: credentials) { _ in }
        }

        func commitEach(
            _ mutations: [Mutation], as credentials: Credentials, _ completion: @escaping Completion
        ) {
            batches.change { $0.append((mutations.count, completion)) }
        }

        /// Waits for a batch, and commits its writes.
        ///
        /// - Returns: the number of writes.
        @discardableResult
        func answer() async -> Int {
            await batches.wait { !$0.isEmpty }
            let batch = batches.value[0]
            batches.change { _ = $0.removeFirst() }
            let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 0))
            let outcome = MutationOutcome.success(MutationResult(version: version))
            batch.completion(.success(Array(repeating: outcome, count: batch.count)))
            return batch.count
        }
    }

    private let remote = HeldRemote()
    private let resumed = Recorder<String>()
    /// Blocks and serves the callbacks of the database.
    private let queue = DispatchQueue(label: "callbacks")

    private func database() throws -> Firestore {
        var configuration = FirestoreConfiguration.inMemory
        configuration.backend = RemoteConnection(remote)
        configuration.callbackQueue = queue
        // However slow the machine is, no attempt is given up.
        configuration.serverWait = .atMost(.seconds(86_400))
        return try Firestore(configuration: configuration)
    }

    private func writer(_ db: Firestore, limit: Int) -> BulkWriter {
        var options = BulkWriterOptions()
        options.throttling = .off
        options.maxPendingWrites = limit
        return db.bulkWriter(options: options)
    }

    private func add(_ ids: String..., to writer: BulkWriter, of db: Firestore) {
        for id in ids { writer.setData(["n": 1], forDocument: db.document("a/\(id)")) }
    }

    /// Begins to wait: the task has run up to its suspension when this returns.
    @discardableResult
    private func wait(_ name: String, for writer: BulkWriter) -> Task<Void, any Error> {
        Task.immediate { [resumed] in
            do throws(LarderError) {
                try await writer.waitForCapacity()
                resumed.record(name)
            } catch {
                resumed.record("\(name): \(error.kind)")
                throw error
            }
        }
    }

    @Test("A task waits while the limit is reached, and is resumed when a write is finished")
    func waits() async throws {
        let db = try database()
        let writer = writer(db, limit: 2)
        wait("first", for: writer)
        add("x", to: writer, of: db)
        wait("second", for: writer)
        #expect(resumed.elements == ["first", "second"])
        // In flight, so that the next write is none of its batch.
        await remote.batches.wait { $0.count == 1 }
        add("y", to: writer, of: db)
        wait("third", for: writer)
        #expect(resumed.elements.count == 2)
        await remote.answer()
        #expect(await resumed.first(3) == ["first", "second", "third"])
        #expect(writer.progress.pendingCount == 1)
        await remote.answer()
        await writer.close()
        try await db.terminate()
    }

    @Test("As many tasks are resumed as there is room for, in the order of their calls")
    func order() async throws {
        let db = try database()
        let writer = writer(db, limit: 1)
        add("x", to: writer, of: db)
        await remote.batches.wait { $0.count == 1 }
        // Beyond the limit: nothing stops a call that does not wait.
        add("y", to: writer, of: db)
        let tasks = ["one", "two"].map { wait($0, for: writer) }
        await remote.answer()
        // The other write is in flight, and the limit still reached.
        await remote.batches.wait { $0.count == 1 }
        #expect(resumed.elements.isEmpty && writer.progress.pendingCount == 1)
        await remote.answer()
        // No write is left that could resume the second task.
        for task in tasks { try await task.value }
        #expect(Set(resumed.elements) == ["one", "two"])
        try await db.terminate()
    }

    @Test("A loop that waits before each write never exceeds the limit")
    func bounded() async throws {
        let db = try database()
        let writer = writer(db, limit: 45)
        let answers = Task { [remote] in
            var count = 0
            while count < 1_000 { count += await remote.answer() }
        }
        var largest = 0
        for number in 0..<1_000 {
            try await writer.waitForCapacity()
            add("\(number)", to: writer, of: db)
            largest = max(largest, writer.progress.pendingCount)
        }
        await writer.close()
        #expect((1...45).contains(largest), "\(largest)")
        #expect(writer.progress.succeededCount == 1_000)
        await answers.value
        try await db.terminate()
    }

    @Test("A write counts until its handler was called")
    func handlers() async throws {
        let db = try database()
        let writer = writer(db, limit: 1)
        writer.onWriteResult { [resumed] _, _ in resumed.record("handler") }
        add("x", to: writer, of: db)
        wait("task", for: writer)
        let isOpen = DispatchSemaphore(value: 0)
        queue.async { isOpen.wait() }
        await remote.answer()
        while writer.progress.pendingCount > 0 { await Task.yield() }
        #expect(resumed.elements.isEmpty)
        isOpen.signal()
        #expect(await resumed.first(2) == ["handler", "task"])
        // A write that is invalid, and never sent, counts until its handler was called as well.
        writer.onWriteError { [resumed] _ in
            resumed.record("error")
            return false
        }
        queue.async { isOpen.wait() }
        writer.setData(["n": db], forDocument: db.document("a/x"))
        wait("last", for: writer)
        #expect(resumed.elements.count == 2)
        isOpen.signal()
        #expect(await resumed.first(4).suffix(2) == ["error", "last"])
        try await db.terminate()
    }

    @Test("A cancelled task stops waiting; the end of the database resumes the others")
    func cancelled() async throws {
        let db = try database()
        let writer = writer(db, limit: 1)
        add("x", to: writer, of: db)
        let cancelled = wait("one", for: writer)
        wait("two", for: writer)
        cancelled.cancel()
        #expect(await resumed.first(1) == ["one: cancelled"])
        try await db.terminate()
        #expect(await resumed.first(2).last == "two")
        #expect(writer.progress.failedCount == 1)
    }
}
