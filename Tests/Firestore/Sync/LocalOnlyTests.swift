import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Collections that are local only by the cache rules")
struct LocalOnlyTests {
    private let scheduler = ManualScheduler()
    private let folder: TemporaryDirectory
    private let backend: Backend
    private let remote: RecordingRemote
    private let drafts = CacheRule(.collection("drafts"), isLocalOnly: true)

    init() throws {
        folder = try TemporaryDirectory()
        backend = try .manual(scheduler)
        remote = RecordingRemote(backend)
    }

    private func client(
        _ rules: [CacheRule]?, hasRemote: Bool = true,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = ClientConfiguration.manual(
            scheduler, in: folder, remote: hasRemote ? remote : nil)
        configuration.cacheRules = rules
        let scheduler = scheduler
        configuration.clock = { scheduler.clock.timestamp }
        change(&configuration)
        let client = try Client(configuration)
        scheduler.drain()
        return client
    }

    private func end(_ client: Client) {
        client.terminate { _ in }
        scheduler.drain()
    }

    private struct Outcome {
        var committed: Result<Int64, LarderError>?
        var acknowledged: Result<Void, LarderError>?
    }

    /// Makes a write and serves it, for two seconds.
    private func write(_ client: Client, _ mutations: Mutation...) throws -> Outcome {
        let outcome = Mutex(Outcome())
        client.write(
            mutations, committed: { result in outcome.withLock { $0.committed = result } },
            acknowledged: { result in outcome.withLock { $0.acknowledged = result } })
        settle()
        return outcome.withLock { $0 }
    }

    private func settle() {
        scheduler.drain()
        scheduler.clock.advance(by: .seconds(2))
        scheduler.fireDue()
        scheduler.drain()
    }

    private func set(_ path: String, _ n: Int64, _ precondition: Precondition = .none) throws
        -> Mutation
    {
        Mutation(
            .set(try Record(["n": .integer(n)])), at: try DocumentPath(path),
            precondition: precondition)
    }

    private func query(_ collection: String) throws -> Query {
        Query(.collection(try CollectionPath(collection)))
    }

    private func change(_ client: Client, _ rules: [CacheRule]) -> LarderError.Code? {
        let outcome = Mutex<Result<Void, LarderError>?>(nil)
        client.setCacheRules(rules) { result in outcome.withLock { $0 = result } }
        scheduler.drain()
        if case .failure(let error) = outcome.withLock({ $0 }) { return error.kind }
        return nil
    }

    @Test(
        "a write is acknowledged at once, seen by reads and listeners, never queued and never sent",
        arguments: [true, false])
    func writes(hasRemote: Bool) throws {
        let client = try client([drafts], hasRemote: hasRemote)
        let shown = Mutex<[[String: Bool]]>([])
        let registration = client.listen(to: try query("drafts"), options: ListenOptions()) {
            result in
            guard let snapshot = try? result.get() else { return }
            let states = snapshot.documents.map { ($0.path.id, $0.hasLocalMutations) }
            shown.withLock { $0.append(Dictionary(uniqueKeysWithValues: states)) }
        }
        settle()
        let outcome = try write(client, set("drafts/a", 1), set("drafts/b", 2))
        #expect(try outcome.committed?.get() == 0)
        #expect(try outcome.acknowledged?.get() != nil)
        _ = try write(client, Mutation(.delete, at: try DocumentPath("drafts/b")))
        let increment = FieldTransform(try FieldPath("n"), .increment(.integer(5)))
        let stamp = FieldTransform(try FieldPath("t"), .serverTimestamp)
        _ = try write(
            client,
            Mutation(
                .patch(try Record([:]), FieldMask([])), at: try DocumentPath("drafts/a"),
                transforms: [increment, stamp]))
        #expect(try client.pendingWrites().isEmpty)
        let document = try #require(try client.document(at: try DocumentPath("drafts/a")))
        #expect(document.fields["n"] == 6)
        #expect(
            document.fields["t"] == .timestamp(document.version.timestamp.modelServerTimestamp))
        #expect(!document.hasLocalMutations)
        #expect(
            shown.withLock { $0 } == [
                [:], ["a": false, "b": false], ["a": false], ["a": false],
            ])
        registration.remove()
        settle()
        #expect(remote.log.isEmpty)
        end(client)
        let second = try self.client(nil, hasRemote: hasRemote)
        #expect(try second.run(try query("drafts")).documents.map(\.path.id) == ["a"])
        second.collectGarbage(threshold: 0) { _ in }
        second.evict(try query("drafts")) { _ in }
        settle()
        #expect(try second.run(try query("drafts")).documents.map(\.path.id) == ["a"])
        #expect(remote.log.isEmpty)
        end(second)
    }

    @Test("other collections are synchronized as ever")
    func others() throws {
        let client = try client([drafts])
        _ = try write(client, try set("drafts/a", 1))
        let outcome = try write(client, try set("notes/a", 1))
        #expect(try outcome.committed?.get() != 0)
        #expect(try outcome.acknowledged?.get() != nil)
        #expect(try backend.document(at: try DocumentPath("notes/a"))?.exists == true)
        let registration = client.listen(to: try query("notes"), options: ListenOptions()) { _ in }
        settle()
        registration.remove()
        settle()
        #expect(remote.log == ["write notes/a", "watch notes"])
        end(client)
    }

    @Test("a precondition that does not hold refuses the whole write")
    func preconditions() throws {
        let client = try client([drafts])
        _ = try write(client, try set("drafts/a", 1))
        let cases: [(Mutation, LarderError.Code)] = [
            (try set("drafts/a", 2, .exists(false)), .alreadyExists),
            (try set("drafts/none", 2, .exists(true)), .notFound),
            (try set("drafts/a", 2, .updateTime(.at(1))), .failedPrecondition),
        ]
        for (mutation, code) in cases {
            let outcome = try write(client, try set("drafts/b", 1), mutation)
            let error = #expect(throws: LarderError.self) { try outcome.committed?.get() }
            #expect(error?.kind == code)
            #expect(outcome.acknowledged == nil)
            #expect(try client.document(at: try DocumentPath("drafts/b")) == nil)
        }
        let version = try #require(try client.document(at: try DocumentPath("drafts/a"))).version
        let outcome = try write(client, try set("drafts/a", 3, .updateTime(version)))
        #expect(try outcome.committed?.get() == 0)
        let after = try #require(try client.document(at: try DocumentPath("drafts/a")))
        #expect(after.version > version && after.fields["n"] == 3)
        end(client)
    }

    @Test("a write of both kinds is refused, and nothing of it is made")
    func mixed() throws {
        let client = try client([drafts])
        let outcome = try write(client, try set("drafts/a", 1), try set("notes/a", 1))
        let error = #expect(throws: LarderError.self) { try outcome.committed?.get() }
        #expect(error?.kind == .invalidArgument)
        #expect(try client.document(at: try DocumentPath("drafts/a")) == nil)
        #expect(try client.document(at: try DocumentPath("notes/a")) == nil)
        #expect(remote.log.isEmpty)
        end(client)
    }

    @Test("calls of the backend for such documents are refused before they reach it")
    func calls() throws {
        let client = try client([CacheRule(.collectionGroup("drafts"), isLocalOnly: true)])
        let codes = Mutex<[LarderError.Code?]>([])
        @Sendable func note<Value>(_ result: Result<Value, LarderError>) {
            var code: LarderError.Code?
            if case .failure(let error) = result { code = error.kind }
            codes.withLock { $0.append(code) }
        }
        let path = try DocumentPath("users/a/drafts/b")
        client.readAtServer([path], completion: note)
        client.commitAtServer([try set("users/a/drafts/b", 1)], completion: note)
        client.commitEachAtServer([try set("users/a/drafts/b", 1)], completion: note)
        client.aggregateAtServer([.count], over: Query(.group("drafts")), completion: note)
        client.runAtServer(QuerySelection(Query(.document(path))), completion: note)
        client.listDocumentsAtServer(in: path.parent, completion: note)
        settle()
        #expect(codes.withLock { $0 } == Array(repeating: .invalidArgument, count: 6))
        #expect(remote.log.isEmpty)
        end(client)
    }

    @Test("a collection group of both kinds cannot be queried")
    func groups() throws {
        let client = try client([CacheRule(.collection("users/a/drafts"), isLocalOnly: true)])
        let codes = Mutex<[LarderError.Code]>([])
        for group in ["drafts", "notes"] {
            _ = client.listen(to: Query(.group(group)), options: ListenOptions()) { result in
                if case .failure(let error) = result { codes.withLock { $0.append(error.kind) } }
            }
        }
        settle()
        #expect(codes.withLock { $0 } == [.invalidArgument])
        #expect(remote.log == ["watch notes"])
        end(client)
    }

    @Test("rules change at run time, but not under a listener")
    func changes() throws {
        let client = try client([])
        _ = try write(client, try set("drafts/a", 1))
        let registration = client.listen(to: try query("drafts"), options: ListenOptions()) { _ in }
        settle()
        #expect(change(client, [drafts]) == .failedPrecondition)
        registration.remove()
        settle()
        #expect(change(client, [drafts]) == nil)
        _ = try write(client, try set("drafts/b", 1))
        #expect(change(client, []) == nil)
        _ = try write(client, try set("drafts/c", 1))
        #expect(remote.log == ["write drafts/a", "watch drafts", "write drafts/c"])
        #expect(try backend.document(at: try DocumentPath("drafts/b")) == nil)
        end(client)
    }

    @Test("limits of the rule hold for documents that are local only")
    func limits() throws {
        let client = try client([
            CacheRule(.collection("drafts"), isLocalOnly: true, maximumAge: .seconds(160))
        ])
        _ = try write(client, try set("drafts/a", 1))
        for _ in 0..<50 { settle() }
        #expect(try client.document(at: try DocumentPath("drafts/a")) != nil)
        for _ in 0..<60 { settle() }
        #expect(try client.run(try query("drafts")).documents.map(\.path.id) == ["a"])
        for _ in 0..<120 { settle() }
        #expect(try client.run(try query("drafts")).documents.isEmpty)
        end(client)
    }

    @Test("a store of several clients cannot have such rules")
    func shared() throws {
        let error = #expect(throws: LarderError.self) {
            try client([drafts]) { $0.sharing = Sharing(clientID: "a") }
        }
        #expect(error?.kind == .invalidArgument)
    }
}

/// A backend that records what reaches it.
private final class RecordingRemote: RemoteWithoutDirectCalls {
    private let base: Backend
    private let entries = Mutex<[String]>([])

    init(_ base: Backend) {
        self.base = base
    }

    var log: [String] { entries.withLock { $0 } }

    private func note(_ entry: String) {
        entries.withLock { $0.append(entry) }
    }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        Watch(self, base.openWatchStream(as: credentials, handler))
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        Write(self, base.openWriteStream(as: credentials, handler))
    }

    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        note("read")
        base.read(paths, as: credentials, completion)
    }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        note("commit")
        base.commit(mutations, as: credentials, completion)
    }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        note("aggregate")
        base.aggregate(aggregates, over: target, as: credentials, completion)
    }

    func invalidateToken() {}

    private final class Watch: WatchStream {
        private let remote: RecordingRemote
        private let base: any WatchStream

        init(_ remote: RecordingRemote, _ base: any WatchStream) {
            (self.remote, self.base) = (remote, base)
        }

        func send(_ request: WatchRequest) {
            if case .add(let target) = request {
                switch target.target.source {
                case .collection(let path): remote.note("watch \(path.string)")
                case .group(let id): remote.note("watch \(id)")
                case .document(let path): remote.note("watch \(path.string)")
                }
            }
            base.send(request)
        }

        func demand(_ count: Int) { base.demand(count) }

        func close() { base.close() }
    }

    private final class Write: WriteStream {
        private let remote: RecordingRemote
        private let base: any WriteStream

        init(_ remote: RecordingRemote, _ base: any WriteStream) {
            (self.remote, self.base) = (remote, base)
        }

        func send(_ request: WriteRequest) {
            if case .write(let mutations, _, _) = request {
                remote.note("write " + mutations.map(\.path.string).joined(separator: " "))
            }
            base.send(request)
        }

        func close() { base.close() }
    }
}
