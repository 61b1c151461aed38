import Larder
import LarderModel
import Testing

@Suite("Lists of collections and documents")
struct ListingTests {
    private func filled(_ world: World) async throws {
        for path in ["b/x", "a/y", "a/y/one/d", "a/y/two/d/deep/e", "a/missing/sub/d"] {
            try await world.set(path, ["n": 1])
        }
    }

    @Test("The server's collections are listed at the root and below documents")
    func collections() async throws {
        let world = try World()
        try await filled(world)
        let db = try world.database()
        #expect(try await db.listCollections().map(\.path) == ["a", "b"])
        let below = try await db.document("a/y").listCollections()
        #expect(below.map(\.path) == ["a/y/one", "a/y/two"])
        #expect(
            try await db.document("a/y/two/d").listCollections().map(\.collectionID) == ["deep"])
        #expect(try await db.document("b/x").listCollections(source: .server).isEmpty)
        try await db.terminate()
    }

    @Test("Documents are listed with those that are missing")
    func documents() async throws {
        let world = try World()
        try await filled(world)
        let db = try world.database()
        #expect(
            try await db.collection("a").listDocuments().map(\.path) == ["a/missing", "a/y"])
        #expect(try await db.collection("none").listDocuments().isEmpty)
        // Nothing of it is cached.
        #expect(try await db.collection("a").listDocuments(source: .cache).isEmpty)
        try await db.terminate()
    }

    @Test("Offline, the server's lists are unavailable, and the cache has what was read or written")
    func offline() async throws {
        let world = try World()
        try await filled(world)
        let db = try world.database()
        _ = try await db.document("a/y").getDocument(source: .server)
        _ = try await db.document("a/y/two/d/deep/e").getDocument(source: .server)
        try await db.disableNetwork()
        #expect(await code { _ = try await db.listCollections() } == .unavailable)
        #expect(
            await code { _ = try await db.collection("a").listDocuments(source: .server) }
                == .unavailable)
        db.document("new/x/sub/d").enqueueSetData(["n": 1])
        #expect(try await db.listCollections(source: .cache).map(\.path) == ["a", "new"])
        let deep = try await db.document("a/y").listCollections(source: .cache)
        #expect(deep.map(\.path) == ["a/y/two"])
        let missing = try await db.collection("new").listDocuments(source: .cache)
        #expect(missing.map(\.path) == ["new/x"])
        // A pending delete leaves nothing to list.
        db.document("a/y").enqueueDelete()
        db.document("a/y/two/d/deep/e").enqueueDelete()
        #expect(try await db.listCollections(source: .cache).map(\.path) == ["new"])
        try await db.terminate()
    }

    @Test("A database without a backend lists its own documents")
    func local() async throws {
        let db = try memoryDatabase()
        db.document("a/y/one/d").enqueueSetData(["n": 1])
        #expect(try await db.listCollections().map(\.path) == ["a"])
        #expect(try await db.collection("a").listDocuments().map(\.path) == ["a/y"])
        #expect(await code { _ = try await db.listCollections(source: .server) } == .unavailable)
        try await db.terminate()
    }

    @Test("A malformed path is invalid")
    func invalid() async throws {
        let db = try memoryDatabase()
        #expect(await code { _ = try await db.document("a").listCollections() } == .invalidArgument)
        #expect(
            await code { _ = try await db.collection("a/b").listDocuments() } == .invalidArgument)
        try await db.terminate()
    }
}
