import Dispatch
import Foundation
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("The client: reads, writes and listeners of one database")
struct ClientTests {
    private let database = DatabaseID(project: "test")

    private func client(_ directory: String? = nil) throws -> Client {
        let storage = directory.map { StoreConfiguration(directory: $0) } ?? .inMemory()
        return try Client(ClientConfiguration(storage: storage, databaseID: database))
    }

    private func set(_ path: String, _ fields: MapValue) throws -> Mutation {
        Mutation(.set(try Record(fields)), at: try DocumentPath(path))
    }

    private func query(_ collection: String) throws -> Query {
        Query(.collection(try CollectionPath(collection)))
    }

    /// Writes and waits until it is durable.
    private func write(_ client: Client, _ mutations: [Mutation]) async throws -> Int64 {
        try await withCheckedThrowingContinuation { continuation in
            client.write(
                mutations, committed: { continuation.resume(with: $0) }, acknowledged: { _ in })
        }
    }

    private func completes(
        _ body: (@escaping @Sendable (Result<Void, LarderError>) -> Void) -> Void
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            body { continuation.resume(with: $0) }
        }
    }

    @Test("A read that follows a write sees it, committed or not")
    func readsOwnWrites() async throws {
        let client = try client()
        for number in 0..<200 {
            client.write(
                [try set("a/x", ["n": .integer(Int64(number))])], committed: { _ in },
                acknowledged: { _ in })
            await client.earlierWritesCommitted()
            let read = try client.document(at: try DocumentPath("a/x"))
            #expect(read?[try FieldPath("n")] == .integer(Int64(number)))
        }
    }

    @Test("A read that waits for a write which the end of the client refuses goes on")
    func readsEndWithTheClient() throws {
        let client = try client()
        let (held, ending, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let (goOn, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        client.afterLoading {
            held.signal()
            goOn.wait()
        }
        held.wait()
        // The engine takes these two together: the write comes too late to be taken with them.
        client.afterLoading {
            ending.signal()
            end.wait()
        }
        client.terminate { _ in }
        goOn.signal()
        ending.wait()
        client.write([try set("a/x", [:])], committed: { _ in }, acknowledged: { _ in })
        client.afterEarlierWrites { ended.signal() }
        end.signal()
        #expect(ended.wait(timeout: .now() + 120) == .success)
    }

    @Test("A closure that waits for writes runs at once when there are none")
    func runsAtOnce() throws {
        let client = try client()
        let ran = Mutex(false)
        client.afterEarlierWrites { ran.withLock { $0 = true } }
        #expect(ran.withLock { $0 })
    }

    @Test("A read waits for writes to its own place alone")
    func waitsForItsPlace() async throws {
        let client = try client()
        // Holds the engine until the place of each wait is looked at.
        let gate = DispatchSemaphore(value: 0)
        client.afterLoading { gate.wait() }
        client.write([try set("a/x", ["n": 1])], committed: { _ in }, acknowledged: { _ in })
        let ran = Mutex<[String]>([])
        let places: [(String, Query.Source?)] = [
            ("other document", .document(try DocumentPath("a/y"))),
            ("document", .document(try DocumentPath("a/x"))),
            ("other collection", .collection(try CollectionPath("a/x/b"))),
            ("collection", .collection(try CollectionPath("a"))),
            ("other group", .group("b")), ("group", .group("a")), ("all", nil),
        ]
        for (name, place) in places {
            client.afterEarlierWrites(touching: place) { ran.withLock { $0.append(name) } }
        }
        #expect(ran.withLock { $0 } == ["other document", "other collection", "other group"])
        gate.signal()
        await client.earlierWritesCommitted()
        try await completes { client.enableNetwork($0) }
        let document = try client.document(at: try DocumentPath("a/x"))
        #expect(document != nil)
    }

    @Test("Writes that wait share a commit")
    func groupsCommits() async throws {
        let directory = try TemporaryDirectory()
        let client = try client(directory.file("store"))
        let before = try client.usage().commitNumber
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let mutation = try set("a/d\(number)", ["n": 1])
                group.addTask { _ = try await self.write(client, [mutation]) }
            }
            try await group.waitForAll()
        }
        let commits = try client.usage().commitNumber - before
        #expect(commits < 200)
        #expect(try client.run(try query("a")).documents.count == 200)
    }

    @Test("What was committed is there after reopening, pending as before")
    func reopens() async throws {
        let directory = try TemporaryDirectory()
        var opened = try client(directory.file("store"))
        let id = try await write(opened, [try set("a/x", ["n": 1]), try set("a/y", ["n": 2])])
        try await completes { opened.terminate($0) }
        opened = try client(directory.file("store"))
        #expect(try opened.pendingWrites().map(\.id) == [id])
        let documents = try opened.run(try query("a")).documents
        #expect(documents.map(\.id) == ["x", "y"])
        #expect(documents.allSatisfy { $0.hasLocalMutations } == true)
    }

    @Test("A refused write is reported alone, and the others of its group go in")
    func refusesAlone() async throws {
        let client = try client()
        let large = Value.string(String(repeating: "x", count: 1_100_000))
        let outcomes = Mutex<[String]>([])
        for (name, value) in [("x", Value.integer(1)), ("big", large), ("y", .integer(2))] {
            client.write(
                [try set("a/\(name)", ["v": value])],
                committed: { result in
                    let word = (try? result.get()) == nil ? "refused" : "written"
                    outcomes.withLock { $0.append("\(name) \(word)") }
                }, acknowledged: { _ in })
        }
        await client.earlierWritesCommitted()
        try await completes { client.enableNetwork($0) }
        #expect(outcomes.withLock { $0 } == ["x written", "big refused", "y written"])
        #expect(try client.run(try query("a")).documents.map(\.id) == ["x", "y"])
    }

    @Test("A write whose expectation no longer holds is aborted")
    func checksExpectations() async throws {
        let client = try client()
        let path = try DocumentPath("a/x")
        _ = try await write(client, [try set("a/x", ["n": 1])])
        let read = try client.document(at: path)
        _ = try await write(client, [try set("a/x", ["n": 2])])
        let outcome = Mutex<Result<Int64, LarderError>?>(nil)
        client.write(
            [try set("a/x", ["n": 3])],
            expectations: [QueuedWrite.Expectation(path: path, document: read)],
            committed: { result in outcome.withLock { $0 = result } }, acknowledged: { _ in })
        try await completes { client.enableNetwork($0) }
        guard case .failure(let error)? = outcome.withLock({ $0 }) else {
            Issue.record("the write went in")
            return
        }
        #expect(error.kind == .aborted)
    }

    @Test("A cancelled write is undone, its listeners are notified, and its handle ends")
    func cancels() async throws {
        let client = try client()
        let first = try await write(client, [try set("a/x", ["n": 1])])
        let ended = Mutex<LarderError?>(nil)
        let change = try set("a/x", ["n": 2])
        let second: Int64 = try await withCheckedThrowingContinuation { continuation in
            client.write(
                [change], committed: { continuation.resume(with: $0) },
                acknowledged: { result in
                    if case .failure(let error) = result { ended.withLock { $0 = error } }
                })
        }
        let seen = Mutex<[Value?]>([])
        let registration = client.listen(to: try query("a"), options: ListenOptions()) { result in
            let value = (try? result.get())?.documents.first?.fields["n"]
            seen.withLock { $0.append(value) }
        }
        try await settled(client)
        let wasPending: Bool = try await withCheckedThrowingContinuation { continuation in
            client.cancelWrite(second) { continuation.resume(with: $0) }
        }
        #expect(wasPending)
        #expect(ended.withLock { $0?.kind } == .cancelled)
        #expect(try client.pendingWrites().map(\.id) == [first])
        #expect(seen.withLock { $0 } == [2, 1])
        registration.remove()
    }

    @Test("Waiting for pending writes ends when the last of them is cancelled")
    func waitsForPending() async throws {
        let client = try client()
        try await completes { client.waitForPendingWrites($0) }
        let id = try await write(client, [try set("a/x", ["n": 1])])
        let done = Mutex(false)
        client.waitForPendingWrites { _ in done.withLock { $0 = true } }
        try await completes { client.enableNetwork($0) }
        #expect(!done.withLock { $0 })
        client.cancelWrite(id) { _ in }
        try await completes { client.enableNetwork($0) }
        #expect(done.withLock { $0 })
    }

    @Test("Who waits for pending writes waits for those before one that is taken back")
    func waitsBeforeCancelled() async throws {
        let client = try client()
        var ids: [Int64] = []
        for name in ["x", "y", "z"] {
            ids.append(try await write(client, [try set("a/\(name)", [:])]))
        }
        let done = Mutex(false)
        client.waitForPendingWrites { _ in done.withLock { $0 = true } }
        for id in [ids[2], ids[0]] {
            #expect(try await cancel(client, id))
            #expect(!done.withLock { $0 })
        }
        #expect(try await cancel(client, ids[1]))
        #expect(done.withLock { $0 })
    }

    private func cancel(_ client: Client, _ id: Int64) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            client.cancelWrite(id) { continuation.resume(with: $0) }
        }
    }

    @Test("Observers of pending writes see the queue now and after each change")
    func observesPending() async throws {
        let client = try client()
        let counts = Mutex<[Int]>([])
        let registration = client.observePendingWrites { result in
            counts.withLock { $0.append((try? result.get())?.count ?? -1) }
        }
        let id = try await write(client, [try set("a/x", ["n": 1])])
        client.cancelWrite(id) { _ in }
        try await completes { client.enableNetwork($0) }
        registration.remove()
        _ = try await write(client, [try set("a/x", ["n": 1])])
        #expect(counts.withLock { $0 } == [0, 1, 0])
    }

    @Test("A listener receives the first state, then each change, until it is removed")
    func listens() async throws {
        let client = try client()
        _ = try await write(client, [try set("a/x", ["n": 1])])
        let heard = Mutex<[[String]]>([])
        let registration = client.listen(to: try query("a"), options: ListenOptions()) { result in
            let ids = (try? result.get())?.documents.map(\.id) ?? ["?"]
            heard.withLock { $0.append(ids) }
        }
        try await settled(client)
        _ = try await write(client, [try set("a/y", ["n": 2])])
        _ = try await write(client, [Mutation(.delete, at: try DocumentPath("a/x"))])
        registration.remove()
        registration.remove()
        _ = try await write(client, [try set("a/z", ["n": 2])])
        #expect(heard.withLock { $0 } == [["x"], ["x", "y"], ["y"]])
    }

    @Test("Evicting takes documents out of the cache but for those with pending writes")
    func evicts() async throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory: directory.file("store"))
        try store.write { transaction in
            for id in ["x", "y"] {
                try transaction.put(
                    try Record(["n": 1]), at: try DocumentPath("a/\(id)"),
                    version: SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0)))
            }
        }
        try store.close()
        let client = try client(directory.file("store"))
        _ = try await write(client, [try set("a/y", ["n": 2])])
        let all = try query("a")
        let summary: EvictionSummary = try await withCheckedThrowingContinuation { continuation in
            client.evict(all) { continuation.resume(with: $0) }
        }
        #expect(summary.documentCount == 1 && summary.keptCount == 1 && summary.freedBytes > 0)
        #expect(try client.run(all).documents.map(\.id) == ["y"])
    }

    @Test("Calls that wait when the client ends are completed")
    func endsListeners() async throws {
        let client = try client()
        // The engine is held so that listeners and the end are served in one go.
        let gate = DispatchSemaphore(value: 0)
        client.afterLoading { gate.wait() }
        let heard = Mutex<[String]>([])
        let all = try query("a")
        let note: @Sendable (String, Result<ViewSnapshot, LarderError>) -> Void = { name, result in
            let word =
                if case .failure(let error) = result { "\(error.kind)" } else { "a snapshot" }
            heard.withLock { $0.append("\(name) \(word)") }
        }
        let first = client.listen(to: all, options: ListenOptions()) { note("before", $0) }
        client.terminate { _ in }
        let second = client.listen(to: all, options: ListenOptions()) { note("after", $0) }
        client.waitForIndexes { _ in heard.withLock { $0.append("indexes") } }
        gate.signal()
        try await completes { client.terminate($0) }
        let names = heard.withLock { $0 }
        // Its query may have been quick enough.
        #expect(names.contains { $0 == "before failedPrecondition" || $0 == "before a snapshot" })
        #expect(names.contains("after failedPrecondition"))
        #expect(names.contains("indexes"))
        first.remove()
        second.remove()
    }

    @Test("A second call to end the client completes after the first")
    func endsOnce() throws {
        let client = try client()
        let (held, ending, refused, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0),
            DispatchSemaphore(value: 0)
        )
        let (goOn, end, refuse) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        client.afterLoading {
            held.signal()
            goOn.wait()
        }
        held.wait()
        // The engine takes these two together: the listener comes too late to be taken with them, and
        // is refused by the end.
        client.afterLoading {
            ending.signal()
            end.wait()
        }
        client.terminate { _ in }
        goOn.signal()
        ending.wait()
        let registration = client.listen(to: try query("a"), options: ListenOptions()) { _ in
            refused.signal()
            refuse.wait()
        }
        end.signal()
        refused.wait()
        client.terminate { _ in ended.signal() }
        #expect(ended.wait(timeout: .now()) == .timedOut)
        refuse.signal()
        #expect(ended.wait(timeout: .now() + 120) == .success)
        registration.remove()
    }

    @Test("After the end every call fails, and the store can be cleared")
    func terminates() async throws {
        let directory = try TemporaryDirectory()
        let storage = StoreConfiguration(directory: directory.file("store"))
        let configuration = ClientConfiguration(storage: storage, databaseID: database)
        let client = try Client(configuration)
        _ = try await write(client, [try set("a/x", ["n": 1])])
        #expect(throws: LarderError.self) { try Client.clearPersistence(configuration) }
        try await completes { client.terminate($0) }
        try await completes { client.terminate($0) }
        let error = #expect(throws: LarderError.self) {
            try client.document(at: try DocumentPath("a/x"))
        }
        #expect(error?.kind == .failedPrecondition)
        await #expect(throws: LarderError.self) {
            _ = try await write(client, [try set("a/x", ["n": 1])])
        }
        try Client.clearPersistence(configuration)
        #expect(!FileManager.default.fileExists(atPath: directory.file("store")))
    }

    /// Waits until what was asked of the client so far is done, first queries too.
    private func settled(_ client: Client) async throws {
        try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Void, any Error>) in
            client.afterLoading { continuation.resume() }
        }
    }
}
