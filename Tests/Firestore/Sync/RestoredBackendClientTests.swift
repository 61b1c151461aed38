import Foundation
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderBackend

/// Clients whose backend is put back to a copy of its documents.
@Suite("The client: a restored backend")
final class RestoredBackendClientTests {
    /// How the backend's store is put back.
    enum Way: CaseIterable {
        /// Its files.
        case files
        /// A file system that is set back: nothing in the directory says so.
        case snapshot
        /// The documents, in a new store.
        case imported
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let way: Way
        /// Whether documents are written between the restore and the client's return.
        let writes: Bool
        /// Whether the restored backend's clock is an hour behind.
        let isSetBack: Bool

        var testDescription: String { "\(way), writes \(writes), clock set back \(isSetBack)" }
    }

    static let cases = Way.allCases.flatMap { way in
        [(false, false), (true, false), (false, true), (true, true)].compactMap {
            // No proof, no commits in the future: clients wait for the clock.
            way == .imported && $0.1 ? nil : Case(way: way, writes: $0.0, isSetBack: $0.1)
        }
    }

    private let folder: TemporaryDirectory
    private let scheduler = ManualScheduler()
    private let remote = MovingRemote()
    private let query: Query
    private var secondsBack: Int64 = 0

    init() throws {
        folder = try TemporaryDirectory()
        query = try .all("c")
    }

    private func open() throws -> Backend {
        var configuration = BackendConfiguration(
            project: "test", location: .directory(folder.file("backend")))
        configuration.durability = .lastCommitAtRisk
        let (clock, seconds) = (scheduler.clock, secondsBack)
        configuration.clock = {
            let now = clock.timestamp
            return Timestamp(seconds: now.seconds - seconds, nanoseconds: now.nanoseconds)
        }
        configuration.enqueue = { [scheduler] in scheduler.run($0) }
        let backend = try Backend(configuration)
        remote.base.withLock { $0 = backend }
        return backend
    }

    private func client() throws -> Client {
        try Client(.manual(scheduler, in: folder, remote: remote))
    }

    private func end(_ client: Client) {
        client.terminate { _ in }
        scheduler.drain()
    }

    /// Serves everything, and lets the time pass that retries wait for.
    private func settle() {
        for _ in 0..<20 {
            scheduler.drain()
            scheduler.clock.advance(by: .seconds(10))
            scheduler.fireDue()
        }
    }

    private func commit(_ backend: Backend, _ mutations: Mutation...) {
        scheduler.clock.advance(by: .seconds(1))
        backend.commit(mutations, as: Credentials()) { result in
            if case .failure(let error) = result { Issue.record(error) }
        }
        scheduler.drain()
    }

    private func delete(_ path: String) throws -> Mutation {
        Mutation(.delete, at: try DocumentPath(path))
    }

    private func close(_ backend: Backend) {
        remote.base.withLock { $0 = nil }
        backend.close { _ in }
        scheduler.drain()
    }

    /// The documents of the backend.
    private func documents(_ backend: Backend) throws -> [String: MapValue] {
        var documents: [String: MapValue] = [:]
        try backend.forEachDocument { path, fields in documents[path.id] = fields }
        return documents
    }

    /// Makes documents and a copy, and then changes that are lost.
    private func begin() throws -> Backend {
        let backend = try open()
        for number in 0..<10 { commit(backend, try .set("c/d\(number)", number)) }
        settle()
        try backend.core.store.copy(to: folder.file("kept"))
        return backend
    }

    private func change(_ backend: Backend) throws {
        commit(backend, try .set("c/d1", 100))
        commit(backend, try delete("c/d2"))
        commit(backend, try .set("c/d10", 10))
        commit(backend, try delete("c/d3"), try .set("c/d4", 400))
        settle()
    }

    private func restore(_ test: Case) throws -> Backend {
        let (data, kept) = (folder.file("backend"), folder.file("kept"))
        if test.isSetBack { secondsBack = 3_600 }
        try FileManager.default.removeItem(atPath: data)
        if test.way != .imported { try FileManager.default.moveItem(atPath: kept, toPath: data) }
        if test.way == .snapshot {
            let store = try Store(StoreConfiguration(directory: data))
            try store.write { transaction throws(LarderError) in
                try transaction.markPlace(of: store)
            }
            try store.close()
        }
        let backend = try open()
        if test.way == .imported {
            for number in 0..<10 { commit(backend, try .set("c/d\(number)", number)) }
        }
        if test.writes { commit(backend, try .set("c/d5", 500), try delete("c/d6")) }
        return backend
    }

    /// Lets a client listen to queries in turn, changes what the last one shows, restores the backend
    /// and starts the client again.
    private func startAgain(
        _ test: Case, after queries: Query...
    ) throws -> (Backend, Client) {
        let backend = try begin()
        let client = try client()
        for (number, query) in queries.enumerated() {
            let registration = Heard().listen(query, client)
            settle()
            if number == queries.count - 1 { try change(backend) }
            registration.remove()
        }
        end(client)
        close(backend)
        return (try restore(test), try self.client())
    }

    private func expect(
        _ heard: Heard, _ documents: [String: MapValue],
        _ location: SourceLocation = #_sourceLocation
    ) {
        let last = heard.last.withLock { $0 }
        #expect(last?.isFromCache == false, sourceLocation: location)
        let shown = (last.map { Array($0.documents) } ?? []).map { ($0.path.id, $0.fields) }
        #expect(Dictionary(uniqueKeysWithValues: shown) == documents, sourceLocation: location)
    }

    @Test("A listener shows the restored documents, and what is written then", arguments: cases)
    func listener(_ test: Case) throws {
        var backend = try begin()
        let client = try client()
        let heard = Heard()
        let registration = heard.listen(query, client)
        settle()
        try change(backend)
        expect(heard, try documents(backend))
        close(backend)
        settle()
        backend = try restore(test)
        settle()
        expect(heard, try documents(backend))
        commit(backend, try .set("c/d1", 1_000), try delete("c/d7"))
        settle()
        expect(heard, try documents(backend))
        let cached = try client.run(query).documents.map { ($0.path.id, $0.fields) }
        #expect(Dictionary(uniqueKeysWithValues: cached) == (try documents(backend)))
        registration.remove()
        end(client)
        close(backend)
    }

    @Test("A client that is started again shows the restored documents", arguments: cases)
    func restarted(_ test: Case) throws {
        let (backend, client) = try startAgain(test, after: query)
        let heard = Heard()
        let registration = heard.listen(query, client)
        settle()
        expect(heard, try documents(backend))
        registration.remove()
        end(client)
        close(backend)
    }

    @Test(
        "A client that knows documents by another query shows the restored ones", arguments: cases)
    func otherTarget(_ test: Case) throws {
        let (backend, client) = try startAgain(test, after: query)
        let heard = ["d1", "d2", "d3", "d4", "d5", "d6", "d8", "d10"].map { ($0, Heard()) }
        for (id, heard) in heard {
            let registration = heard.listen(Query(.document(try DocumentPath("c/\(id)"))), client)
            settle()
            expect(heard, try documents(backend).filter { $0.key == id })
            registration.remove()
            scheduler.drain()
        }
        end(client)
        close(backend)
    }

    @Test(
        "A query whose documents were seen by another one shows the restored ones",
        arguments: cases)
    func olderTarget(_ test: Case) throws {
        // The first target knows the copied documents, the second one the lost ones.
        let (backend, client) = try startAgain(test, after: query, Query(.group("c")))
        let heard = Heard()
        let registration = heard.listen(query, client)
        settle()
        expect(heard, try documents(backend))
        registration.remove()
        end(client)
        close(backend)
    }

    @Test("Writes that wait for the restored backend are made once, on its documents")
    func writes() throws {
        var backend = try begin()
        let client = try client()
        let heard = Heard()
        let registration = heard.listen(query, client)
        settle()
        try change(backend)
        close(backend)
        let increment = FieldTransform(try FieldPath("n"), .increment(.integer(1)))
        client.write(
            [
                Mutation(
                    .patch(try Record([:]), FieldMask([])), at: try DocumentPath("c/d1"),
                    transforms: [increment])
            ], committed: { _ in }, acknowledged: { _ in })
        settle()
        backend = try restore(Case(way: .files, writes: true, isSetBack: false))
        settle()
        #expect(try client.pendingWrites().isEmpty)
        #expect(try documents(backend)["d1"] == ["n": 2])
        expect(heard, try documents(backend))
        registration.remove()
        end(client)
        close(backend)
    }
}

/// What a listener has heard last.
private final class Heard: Sendable {
    let last = Mutex<ViewSnapshot?>(nil)

    func listen(_ query: Query, _ client: Client) -> ClientRegistration {
        client.listen(to: query, options: ListenOptions(includeMetadataChanges: true)) { result in
            switch result {
            case .success(let snapshot): self.last.withLock { $0 = snapshot }
            case .failure(let error): Issue.record(error)
            }
        }
    }
}

/// The connection to a backend that is another after a while, and to none meanwhile.
private final class MovingRemote: StreamsOnlyRemote {
    let base = Mutex<Backend?>(nil)
    private static let away = LarderError(.unavailable, "the backend is away")

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        if let base = base.withLock({ $0 }) {
            return base.openWatchStream(as: credentials, handler)
        }
        handler(.closed(Self.away))
        return NoStream()
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        if let base = base.withLock({ $0 }) {
            return base.openWriteStream(as: credentials, handler)
        }
        handler(.closed(Self.away))
        return NoStream()
    }

    private final class NoStream: WatchStream, WriteStream {
        func send(_ request: WatchRequest) {}
        func send(_ request: WriteRequest) {}
        func demand(_ count: Int) {}
        func close() {}
    }
}
