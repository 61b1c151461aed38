import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@Suite("Backend: resumed targets")
struct ResumeTokenTests {
    private let directory: TemporaryDirectory
    private let collection: Query

    /// What a client remembers of a target.
    private struct Memory {
        var known: [DocumentPath: DocumentReading]
        var token: [UInt8]
        var version: SnapshotVersion
    }

    init() throws {
        directory = try TemporaryDirectory()
        collection = try .test("c")
    }

    private func open(identity: UInt64 = 7) throws -> TestBackend {
        try TestBackend(directory: directory.path, identity: identity)
    }

    private func remember(_ query: Query, of backend: TestBackend) throws -> Memory {
        let probe = backend.watch()
        probe.send(.add(1, query))
        backend.run()
        let mirror = probe.mirror
        return Memory(
            known: mirror.documents(of: 1), token: mirror.targets[1]?.resumeToken ?? [],
            version: try #require(mirror.snapshots.last?.version))
    }

    /// What is said to a client that goes on; the numbers of documents that it knows then.
    private func resume(
        _ query: Query, _ memory: Memory, of backend: TestBackend,
        from resumption: WatchTarget.Resumption? = nil, expecting count: Int? = nil
    ) throws -> (said: [String], mirror: WatchMirror) {
        let probe = backend.watch()
        probe.send(
            .add(
                3, query, resumption ?? .token(memory.token),
                expecting: count ?? memory.known.count), known: memory.known)
        backend.run()
        #expect(probe.mirror.violations == [])
        let naive = try naiveIDs(query, backend)
        #expect(probe.mirror.documents(of: 3).keys.map(\.id).sorted() == naive)
        return (Array(probe.mirror.heard.dropFirst(1)), probe.mirror)
    }

    private func naiveIDs(_ query: Query, _ backend: TestBackend) throws -> [String] {
        var ids: [String] = []
        _ = try backend.backend.runQuery(query.target.query, as: Credentials()) {
            ids.append($0.id)
            return .continue
        }
        return ids.sorted()
    }

    private func fill(_ backend: TestBackend, count: Int = 5) throws {
        try backend.commit((0..<count).map { try .set("c/d\($0)", ["n": .integer(Int64($0))]) })
    }

    @Test("Nothing is sent if nothing has changed, also after a restart")
    func unchanged() throws {
        let first = try open()
        try fill(first)
        let memory = try remember(collection, of: first)
        try first.close()
        let second = try open()
        try second.commit(.set("other/a", ["n": 1]))
        let resumed = try resume(collection, memory, of: second)
        #expect(resumed.said == ["added 3", "current 3", "snapshot"])
    }

    @Test("Changes and deletes are sent, also after a restart")
    func changed() throws {
        let first = try open()
        try fill(first)
        let query = try Query.test("c", from: 2)
        let memory = try remember(query, of: first)
        try first.commit(.set("c/d2", ["n": 9]), .delete("c/d3"))
        try first.close()
        let second = try open()
        try second.commit(.set("c/d4", ["n": 0]), .set("c/new", ["n": 7]))
        let resumed = try resume(query, memory, of: second)
        #expect(
            resumed.said.sorted() == [
                "added 3", "c/d2 +3", "c/d3 gone -3", "c/d4 -3", "c/new +3", "current 3",
                "filter 3 has 2", "snapshot",
            ])
        #expect(resumed.mirror.targets[3]?.isMismatched == false)
    }

    @Test("A read time resumes as a token does")
    func readTime() throws {
        let backend = try open()
        try fill(backend)
        let memory = try remember(collection, of: backend)
        try backend.commit(.delete("c/d0"))
        let resumed = try resume(
            collection, memory, of: backend, from: .readTime(memory.version))
        #expect(
            resumed.said
                == ["added 3", "c/d0 gone -3", "filter 3 has 4", "current 3", "snapshot"])
        let later = Timestamp(seconds: memory.version.timestamp.seconds + 9, nanoseconds: 0)
        let ahead = try resume(
            collection, memory, of: backend, from: .readTime(SnapshotVersion(later)))
        #expect(ahead.said.prefix(2) == ["added 3", "reset 3"])
    }

    @Test("A group is resumed over all its collections")
    func groups() throws {
        let backend = try open()
        try backend.commit(.set("c/a", ["n": 1]), .set("x/y/c/b", ["n": 1]))
        let memory = try remember(Query(.group("c")), of: backend)
        try backend.commit(.delete("x/y/c/b"), .set("x/z/c/e", ["n": 1]), .set("x/z/d/e", [:]))
        let resumed = try resume(Query(.group("c")), memory, of: backend)
        #expect(
            resumed.said.sorted() == [
                "added 3", "current 3", "filter 3 has 2", "snapshot", "x/y/c/b gone -3",
                "x/z/c/e +3",
            ])
    }

    @Test("A document is sent again")
    func documents() throws {
        let backend = try open()
        try fill(backend)
        let query = Query(.document(try DocumentPath("c/d1")))
        let memory = try remember(query, of: backend)
        #expect(
            try resume(query, memory, of: backend).said.prefix(2) == ["added 3", "c/d1 +3"])
        try backend.commit(.delete("c/d1"))
        #expect(
            try resume(query, memory, of: backend).said.prefix(2) == ["added 3", "c/d1 gone -3"])
    }

    @Test("With a limit nothing is sent without changes, otherwise all documents are sent again")
    func limits() throws {
        let backend = try open()
        try fill(backend)
        let query = try Query.test("c", limit: 2)
        let memory = try remember(query, of: backend)
        #expect(
            try resume(query, memory, of: backend).said == ["added 3", "current 3", "snapshot"])
        try backend.commit(.delete("c/d0"))
        #expect(
            try resume(query, memory, of: backend).said
                == ["added 3", "reset 3", "c/d1 +3", "c/d2 +3", "current 3", "snapshot"])
    }

    @Test(
        "With a token that is invalid, of another backend or of the future, all documents are sent again"
    )
    func foreignTokens() throws {
        let backend = try open()
        try fill(backend)
        let memory = try remember(collection, of: backend)
        let other = try TestBackend(identity: 8)
        try fill(other)
        let foreign = try remember(collection, of: other)
        var ahead = memory.token
        ahead[9 + 7] &+= 100
        for token in [foreign.token, ahead, [1, 2, 3], memory.token + [0]] {
            let resumed = try resume(collection, memory, of: backend, from: .token(token))
            #expect(resumed.said.prefix(2) == ["added 3", "reset 3"])
            #expect(resumed.said.suffix(2) == ["current 3", "snapshot"])
            #expect(resumed.said.count == 9)
        }
    }

    @Test("Once deletes are discarded, older clients receive all documents again")
    func forgottenDeletes() throws {
        let backend = try open()
        try fill(backend)
        let old = try remember(collection, of: backend)
        try backend.commit(.delete("c/d0"))
        let new = try remember(collection, of: backend)
        let moment = Timestamp(seconds: old.version.timestamp.seconds + 1_000, nanoseconds: 0)
        #expect(try backend.backend.forgetDeletes(before: moment) == 1)
        try backend.commit(.delete("c/d1"))
        #expect(
            try resume(collection, old, of: backend).said.prefix(2) == ["added 3", "reset 3"])
        let recent = try remember(collection, of: backend)
        try backend.commit(.delete("c/d2"))
        #expect(
            try resume(collection, recent, of: backend).said
                == ["added 3", "c/d2 gone -3", "filter 3 has 2", "current 3", "snapshot"])
        _ = try resume(collection, new, of: backend)
    }

    @Test("With more changes than documents, all documents are sent again")
    func manyChanges() throws {
        let backend = try open()
        try fill(backend, count: 150)
        let query = try Query.test("c", from: 140)
        let memory = try remember(query, of: backend)
        try backend.commit((0..<120).map { try .set("c/d\($0)", ["n": 0]) })
        let resumed = try resume(query, memory, of: backend)
        #expect(resumed.said.prefix(2) == ["added 3", "reset 3"])
        #expect(resumed.said.count == 14)
    }

    @Test("A client with an impossible document count receives a bloom filter")
    func bloomFilter() throws {
        let backend = try open()
        try fill(backend, count: 40)
        var memory = try remember(collection, of: backend)
        let stranger = try DocumentPath("c/stranger")
        memory.known[stranger] = DocumentReading(
            path: stranger, contents: .found(try Record(["n": 1]), createTime: nil),
            version: memory.version)
        let resumed = try resume(collection, memory, of: backend)
        #expect(
            resumed.said == ["added 3", "filter 3 has 40 and bits", "current 3", "snapshot"])
        #expect(resumed.mirror.targets[3]?.isMismatched == true)
        #expect(resumed.mirror.documents(of: 3).count == 40)
    }
}
