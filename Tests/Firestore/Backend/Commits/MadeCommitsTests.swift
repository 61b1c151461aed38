import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: commits that are requested again")
struct MadeCommitsTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func name(_ write: String, of client: String = "c", answered: [String] = [])
        -> WriteToken
    {
        WriteToken(client: client, write: write, answered: answered)
    }

    private func increment() throws -> Mutation {
        try .patch(
            "c/a", [:],
            transforms: [.init("n", .increment(1)), .init("at", .serverTimestamp)])
    }

    /// A stream whose handshake is answered.
    private func open(_ backend: TestBackend) -> WriteProbe {
        let probe = WriteProbe(backend.backend)
        backend.run()
        return probe
    }

    private func send(
        _ backend: TestBackend, _ name: WriteToken, on probe: WriteProbe
    ) throws -> CommitResponse? {
        let count = probe.current.responses.count
        probe.write(try increment(), once: name)
        backend.run()
        return probe.current.responses.dropFirst(count).first
    }

    /// The rows of answers in a closed backend's store.
    private func rows(_ directory: String) throws -> [NamedValue] {
        let store = try Store(StoreConfiguration(directory: directory))
        return try store.read { (transaction) throws(LarderError) in
            try transaction.namedValues(.global, beginningWith: "backend.made/")
        }
    }

    @Test("are answered as the first time and not made, on this stream and the next ones")
    func again() throws {
        let backend = try TestBackend()
        let probe = open(backend)
        let first = try #require(try send(backend, name("1"), on: probe))
        #expect(first.results.first?.transformResults.first == .integer(1))
        #expect(try send(backend, name("1", of: "d"), on: probe) != first)
        try backend.commit(.patch("c/a", ["n": 7]))
        #expect(try send(backend, name("1"), on: probe) == first)
        probe.close()
        let next = open(backend)
        #expect(try send(backend, name("1"), on: next) == first)
        #expect(try backend.fields("c/a")?["n"] == 7)
        #expect(try send(backend, name("2"), on: next)?.commitVersion != first.commitVersion)
        #expect(try backend.fields("c/a")?["n"] == 8)
    }

    @Test("are made once although both requests arrive together")
    func together() throws {
        let backend = try TestBackend()
        let (one, two) = (open(backend), open(backend))
        for probe in [one, two, one] { probe.write(try increment(), once: name("1")) }
        one.write(try increment(), once: name("2"))
        backend.run()
        let responses = one.current.responses
        #expect(responses.count == 3 && responses[0] == responses[1])
        #expect(two.current.responses == [responses[0]])
        #expect(try backend.fields("c/a")?["n"] == 2)
    }

    @Test("are known after a restart: the commit has their names")
    func restart() throws {
        let directory = folder.file("backend")
        let backend = try TestBackend(directory: directory)
        let probe = open(backend)
        let (one, two) = (
            try send(backend, name("1"), on: probe), try send(backend, name("2"), on: probe)
        )
        try backend.close()
        let reopened = try TestBackend(directory: directory)
        let next = open(reopened)
        #expect(try send(reopened, name("2"), on: next) == two)
        #expect(try send(reopened, name("1"), on: next) == one)
        #expect(try reopened.fields("c/a")?["n"] == 2)
        try reopened.close()
    }

    @Test("are made if they were refused")
    func refusals() throws {
        let backend = try TestBackend()
        let probe = open(backend)
        let write = try Mutation.patch("c/b", ["n": 1], .exists(true))
        probe.write(write, once: name("1"))
        backend.run()
        #expect(probe.current.ending??.kind == .notFound)
        try backend.commit(.set("c/b", ["n": 0]))
        let next = open(backend)
        next.write(write, once: name("1"))
        backend.run()
        #expect(try backend.fields("c/b") == ["n": 1])
    }

    @Test("are forgotten once the client has their answers")
    func answered() throws {
        let directory = folder.file("backend")
        let backend = try TestBackend(directory: directory)
        let probe = open(backend)
        for number in 1...20 {
            _ = try send(
                backend, name("\(number)", answered: number > 1 ? ["\(number - 1)"] : []),
                on: probe)
        }
        try backend.close()
        // The row of the one before the last is removed with the next commit.
        #expect(try rows(directory).count == 1)
        let reopened = try TestBackend(directory: directory)
        let next = open(reopened)
        _ = try send(reopened, name("20"), on: next)
        #expect(try reopened.fields("c/a")?["n"] == 20)
        _ = try send(reopened, name("1"), on: next)
        #expect(try reopened.fields("c/a")?["n"] == 21)
        try reopened.close()
    }

    @Test("are kept within limits, those of the clients that have written last")
    func limits() throws {
        var limits = MadeCommits.Limits()
        (limits.clients, limits.commitsOfClient, limits.commits) = (10, 3, 20)
        let store = try Store(StoreConfiguration.inMemory())
        var made = MadeCommits(limits: limits)
        var time: Int64 = 0
        func commit(_ client: String, _ names: [String]) throws -> SnapshotVersion {
            time += 1
            let version = SnapshotVersion.at(time)
            let response = CommitResponse(
                commitVersion: version, results: [MutationResult(version: version)])
            let answers = [client: Dictionary(uniqueKeysWithValues: names.map { ($0, response) })]
            try store.write { transaction throws(LarderError) in
                try made.write(answers, at: version, to: &transaction)
            }
            made.insert(answers, at: version)
            return version
        }
        func version(_ client: String, _ write: String) throws -> SnapshotVersion? {
            try store.read { (transaction) throws(LarderError) in
                try made.answer(to: name(write, of: client), in: transaction)?.commitVersion
            }
        }
        for number in 0..<6 { _ = try commit("a", ["\(number)"]) }
        #expect(try version("a", "2") == nil && version("a", "3") == .at(4))
        for number in 0..<9 { _ = try commit("b\(number)", ["1"]) }
        #expect(made.clientCount == 10 && made.count == 12)
        _ = try commit("last", ["1", "2"])
        #expect(try version("a", "5") == nil && version("b0", "1") != nil)
        for number in 0..<9 { _ = try commit("c\(number)", ["1", "2", "3"]) }
        #expect(made.count <= 20 && made.clientCount <= 10)
        #expect(try version("c8", "3") != nil && version("last", "1") == nil)
        _ = try commit("c8", ["4"])
        let reopened = try MadeCommits(store, limits: limits)
        #expect(reopened.count == made.count && reopened.clientCount == made.clientCount)
        // A client that alone exceeds the bytes is forgotten.
        limits.bytes = 10
        #expect(try MadeCommits(store, limits: limits).count == 0)
    }

    @Test("are not read from damaged rows", arguments: ["a", "a/1/2", "a/x", "a/1"])
    func damage(_ row: String) throws {
        let directory = folder.file("backend")
        try TestBackend(directory: directory).close()
        let store = try Store(StoreConfiguration(directory: directory))
        try store.write { transaction throws(LarderError) in
            try transaction.putNamedValue(.global, "backend.made/" + row, [1, 2, 3])
        }
        try store.close()
        #expect(code { _ = try TestBackend(directory: directory) } == .dataLoss)
    }
}
