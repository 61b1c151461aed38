import Foundation
import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("The client: writes whose answers are lost")
struct WritesOnceTests {
    /// The backends, by how they recognize a write.
    enum Recognition: CaseIterable {
        /// By its name.
        case names
        /// By the marker of its client.
        case markers
    }

    private let scheduler = ManualScheduler()
    private let folder: TemporaryDirectory
    private let backend: Backend
    private let remote: ForgetfulRemote

    init() throws {
        folder = try TemporaryDirectory()
        backend = try .manual(scheduler)
        remote = ForgetfulRemote(backend)
    }

    /// A client of the store in the test's directory.
    private func client(
        _ recognition: Recognition?, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> Client {
        remote.keepsNames = recognition == .names
        var configuration = ClientConfiguration.manual(
            scheduler, in: folder, remote: remote)
        if recognition == .markers {
            configuration.markerCollection = try CollectionPath("clients")
        }
        change(&configuration)
        return try Client(configuration)
    }

    private func end(_ client: Client) {
        client.terminate { _ in }
        scheduler.drain()
    }

    private func increment(_ client: Client, _ path: String = "c/a", by number: Int64 = 1) throws {
        let transform = FieldTransform(try FieldPath("n"), .increment(.integer(number)))
        client.write(
            [
                Mutation(
                    .patch(try Record([:]), FieldMask([])), at: try DocumentPath(path),
                    transforms: [transform])
            ], committed: { _ in }, acknowledged: { _ in })
    }

    /// Serves everything, and lets the time pass that retries wait for.
    private func settle() {
        for _ in 0..<20 {
            scheduler.drain()
            scheduler.clock.advance(by: .seconds(10))
            scheduler.fireDue()
        }
    }

    private func count(_ path: String = "c/a") throws -> Value? {
        try backend.document(at: try DocumentPath(path))?.fields["n"]
    }

    private func cached(_ client: Client, _ path: String = "c/a") throws -> Document? {
        try client.document(at: try DocumentPath(path))
    }

    @Test("count once, and the client has the backend's result", arguments: Recognition.allCases)
    func once(_ recognition: Recognition) throws {
        let client = try client(recognition)
        for round in 1...10 {
            remote.loseAnswers(round % 4)
            for _ in 0..<round % 3 + 1 { try increment(client) }
            settle()
        }
        #expect(try client.pendingWrites().isEmpty)
        // A marked write that was made has one answer only.
        #expect(remote.lostCount == (recognition == .names ? 15 : 11))
        let sum = (1...10).reduce(0) { $0 + $1 % 3 + 1 }
        #expect(try count() == .integer(Int64(sum)))
        let document = try #require(try cached(client))
        #expect(document.fields["n"] == .integer(Int64(sum)))
        #expect(document.version == (try backend.document(at: document.path))?.version)
        end(client)
    }

    @Test("count twice at a backend that recognizes nothing")
    func twice() throws {
        let client = try client(nil)
        remote.loseAnswers(1)
        try increment(client)
        settle()
        #expect(try count() == 2)
        #expect(!remote.hasNames)
        end(client)
    }

    @Test("count once after a restart of the client", arguments: Recognition.allCases)
    func restart(_ recognition: Recognition) throws {
        let first = try client(recognition)
        for _ in 0..<3 { try increment(first) }
        remote.loseAnswers(1, andStay: true)
        settle()
        #expect(try count() == (recognition == .names ? 3 : 1))
        end(first)
        remote.loseAnswers(0)
        // Another client changes the document.
        backend.commit(
            [
                Mutation(
                    .patch(try Record(["n": 10]), FieldMask([try FieldPath("n")])),
                    at: try DocumentPath("c/a"))
            ], as: Credentials()
        ) { _ in }
        scheduler.drain()
        let second = try client(recognition)
        try increment(second)
        settle()
        #expect(try second.pendingWrites().isEmpty)
        #expect(try count() == (recognition == .names ? 11 : 13))
        #expect(try cached(second)?.fields["n"] == (try count()))
        end(second)
    }

    @Test(
        "of a store that was put back are made, although their numbers and times are given again",
        arguments: Recognition.allCases)
    func putBack(_ recognition: Recognition) throws {
        let files = FileManager.default
        let (store, kept) = (folder.file("store"), folder.file("kept"))
        let time = scheduler.clock.timestamp
        let first = try client(recognition) { $0.clock = { time } }
        end(first)
        try files.copyItem(atPath: store, toPath: kept)
        for round in 1...3 {
            let client = try client(recognition) { $0.clock = { time } }
            try increment(client)
            settle()
            #expect(try client.pendingWrites().isEmpty)
            #expect(try count() == .integer(Int64(round)))
            #expect(try cached(client)?.fields["n"] == (try count()))
            end(client)
            try files.removeItem(atPath: store)
            try files.copyItem(atPath: kept, toPath: store)
        }
    }

    @Test(
        "are made once if they were pending in the copy that was put back",
        arguments: Recognition.allCases)
    func pendingInCopy(_ recognition: Recognition) throws {
        let files = FileManager.default
        let (store, kept) = (folder.file("store"), folder.file("kept"))
        let first = try client(recognition)
        remote.loseAnswers(1, andStay: true)
        try increment(first)
        settle()
        end(first)
        try files.copyItem(atPath: store, toPath: kept)
        remote.loseAnswers(0)
        for _ in 0..<2 {
            let client = try client(recognition)
            settle()
            #expect(try client.pendingWrites().isEmpty)
            #expect(try count() == 1)
            end(client)
            try files.removeItem(atPath: store)
            try files.copyItem(atPath: kept, toPath: store)
        }
    }

    @Test("A marked write that is refused becomes a dead letter, and the next ones are made")
    func refusal() throws {
        let client = try client(.markers)
        try increment(client)
        client.write(
            [
                Mutation(
                    .patch(try Record(["n": 1]), FieldMask([try FieldPath("n")])),
                    at: try DocumentPath("c/none"), precondition: .exists(true))
            ], committed: { _ in }, acknowledged: { _ in })
        try increment(client)
        settle()
        #expect(try client.deadLetters().map(\.error.kind) == [.notFound])
        #expect(try count() == 2)
        end(client)
    }

    @Test("A marker that somebody else changes or deletes delays writes only")
    func interference() throws {
        let client = try client(.markers)
        try increment(client)
        settle()
        let collection = try CollectionPath("clients")
        let marker = try #require(backend.onlyDocument(in: collection, scheduler))
        for mutation in [
            Mutation(.set(try Record(["writes": 7])), at: marker), Mutation(.delete, at: marker),
        ] {
            backend.commit([mutation], as: Credentials()) { _ in }
            scheduler.drain()
            try increment(client)
            settle()
        }
        #expect(try client.pendingWrites().isEmpty)
        #expect(try client.deadLetters().isEmpty)
        #expect(try count() == 3)
        end(client)
    }

    @Test("Each user has a marker; a write is known after a change of the user")
    func users() throws {
        let client = try client(.markers)
        remote.loseAnswers(1, andStay: true)
        try increment(client)
        settle()
        client.setUser(UserID("alice")) { _ in }
        remote.loseAnswers(0)
        try increment(client)
        settle()
        client.setUser(.unauthenticated) { _ in }
        settle()
        #expect(try client.pendingWrites().isEmpty)
        #expect(try count() == 2)
        #expect(try backend.documentCount(in: CollectionPath("clients")) == 2)
        end(client)
    }

    @Test("Markers are not written at a backend that keeps names")
    func both() throws {
        let client = try client(.names) { $0.markerCollection = try? CollectionPath("clients") }
        remote.loseAnswers(1)
        try increment(client)
        settle()
        #expect(try count() == 1)
        #expect(try backend.documentCount(in: CollectionPath("clients")) == 0)
        end(client)
    }
}

extension Backend {
    /// The path of the only document of a collection.
    fileprivate func onlyDocument(
        in collection: CollectionPath, _ scheduler: ManualScheduler
    ) -> DocumentPath? {
        let found = Mutex<[DocumentPath]>([])
        listDocuments(in: collection, as: Credentials()) { result in
            found.withLock { $0 = (try? result.get()) ?? [] }
        }
        scheduler.drain()
        let paths = found.withLock { $0 }
        return paths.count == 1 ? paths.first : nil
    }
}

/// A backend whose answers to writes are lost when a test says so.
private final class ForgetfulRemote: RemoteWithoutDirectCalls {
    private struct State {
        var keepsNames = true
        /// The answers to lose, each with its stream.
        var losses = 0
        /// Whether no stream is opened after the last loss.
        var staysAway = false
        var lostCount = 0
        var hasNames = false
    }

    private let base: Backend
    private let state = Mutex(State())
    private static let lost = LarderError(.unavailable, "the connection was lost")

    init(_ base: Backend) {
        self.base = base
    }

    var keepsNames: Bool {
        get { state.withLock { $0.keepsNames } }
        set { state.withLock { $0.keepsNames = newValue } }
    }
    var lostCount: Int { state.withLock { $0.lostCount } }
    /// Whether a write had a name.
    var hasNames: Bool { state.withLock { $0.hasNames } }

    /// Loses the next answers; then all streams fail if the backend stays away.
    func loseAnswers(_ count: Int, andStay staysAway: Bool = false) {
        state.withLock { ($0.losses, $0.staysAway) = (count, staysAway) }
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        let isAway = state.withLock { $0.staysAway && $0.losses == 0 }
        let stream = Stream(self)
        if isAway {
            handler(.closed(Self.lost))
        } else {
            stream.base = base.openWriteStream(as: credentials) { [self, weak stream] event in
                guard let stream, stream.base != nil else { return }
                let shown = state.withLock { state -> WriteEvent in
                    switch event {
                    case .handshake(let token, _):
                        return .handshake(streamToken: token, keepsNames: state.keepsNames)
                    case .committed where state.losses > 0:
                        state.losses -= 1
                        state.lostCount += 1
                        return .closed(Self.lost)
                    default: return event
                    }
                }
                handler(shown)
                if case .closed = shown { stream.close() }
            }
        }
        return stream
    }

    fileprivate func note(_ request: WriteRequest) {
        guard case .write(_, _, once: _?) = request else { return }
        state.withLock { $0.hasNames = true }
    }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        base.openWatchStream(as: credentials, handler)
    }

    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        base.read(paths, as: credentials, completion)
    }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        base.commit(mutations, as: credentials, completion)
    }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        base.aggregate(aggregates, over: target, as: credentials, completion)
    }

    func invalidateToken() {}

    private final class Stream: WriteStream {
        private let remote: ForgetfulRemote
        private let stream = Mutex<(any WriteStream)?>(nil)

        init(_ remote: ForgetfulRemote) {
            self.remote = remote
        }

        var base: (any WriteStream)? {
            get { stream.withLock { $0 } }
            set { stream.withLock { $0 = newValue } }
        }

        func send(_ request: WriteRequest) {
            remote.note(request)
            base?.send(request)
        }

        func close() {
            let closed = stream.withLock { stream in
                defer { stream = nil }
                return stream
            }
            closed?.close()
        }
    }
}
