import Larder
import LarderBackend
import LarderModel
import Synchronization
import Testing

@Suite("Recursive deletes")
struct RecursiveDeleteTests {
    private static let paths = [
        "a/x", "a/x/b/1", "a/x/b/2", "a/x/b/2/c/3", "a/missing/b/4", "a/y", "ab/z", "b/x/a/1",
    ]

    private func filled(_ world: World) async throws -> Firestore {
        for path in Self.paths { try await world.set(path, ["n": 1]) }
        return try world.database()
    }

    private func left(_ world: World) throws -> [String] {
        try Self.paths.filter { try world.fields($0) != nil }
    }

    @Test("A collection is deleted with all descendants of its documents, and nothing else")
    func collection() async throws {
        let world = try World()
        let db = try await filled(world)
        let progress = Recorder<Int>()
        let count = try await db.recursiveDelete(db.collection("a")) { progress.record($0) }
        #expect(count == 6 && progress.elements == [6])
        #expect(try left(world) == ["ab/z", "b/x/a/1"])
        #expect(try await db.recursiveDelete(db.collection("a")) == 0)
        try await db.terminate()
    }

    @Test("A document is deleted with its descendants, existing or not")
    func document() async throws {
        let world = try World()
        let db = try await filled(world)
        #expect(try await db.recursiveDelete(db.document("a/x")) == 4)
        #expect(try await db.recursiveDelete(db.document("a/missing")) == 2)
        #expect(try left(world) == ["a/y", "ab/z", "b/x/a/1"])
        try await db.terminate()
    }

    @Test("Deletes that fail are counted, the others are made, and another call deletes the rest")
    func failures() async throws {
        let isLocked = Mutex(true)
        let world = try World(rules: { request in
            if case .delete(let path) = request.operation, path.id == "2", isLocked.withLock({ $0 })
            {
                return .deny(reason: "it is locked")
            }
            return .allow
        })
        let db = try await filled(world)
        do {
            try await db.recursiveDelete(db.document("a/x"))
            Issue.record("no error")
        } catch let error as LarderError {
            #expect(error.kind == .permissionDenied)
            #expect(error.message.hasPrefix("1 delete failed. The last delete failed with: "))
        }
        #expect(try left(world) == ["a/x/b/2", "a/missing/b/4", "a/y", "ab/z", "b/x/a/1"])
        isLocked.withLock { $0 = false }
        #expect(try await db.recursiveDelete(db.collection("a/x/b")) == 1)
        #expect(try left(world) == ["a/missing/b/4", "a/y", "ab/z", "b/x/a/1"])
        try await db.terminate()
    }

    @Test("Large trees are deleted page by page with a writer of the application's")
    func pages() async throws {
        let world = try World()
        let mutations = try (0..<5_200).map {
            Mutation(.set(try Record(["n": 1])), at: try DocumentPath("a/x/b/\($0)"))
        }
        try await world.commit(mutations)
        let db = try world.database()
        var options = BulkWriterOptions()
        options.throttling = .off
        let writer = db.bulkWriter(options: options)
        let progress = Recorder<Int>()
        let count = try await db.recursiveDelete(db.collection("a"), bulkWriter: writer) {
            progress.record($0)
        }
        #expect(count == 5_200 && progress.elements == [5_000, 5_200])
        #expect(try world.backend.documentCount() == 0)
        #expect(writer.progress.succeededCount == 5_200)
        try await db.terminate()
    }

    @Test("Offline, nothing is deleted")
    func offline() async throws {
        let world = try World()
        let db = try await filled(world)
        try await db.disableNetwork()
        #expect(
            await code { try await db.recursiveDelete(db.collection("a")) } == .unavailable)
        #expect(try left(world).count == Self.paths.count)
        try await db.terminate()
    }
}
