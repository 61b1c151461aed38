import Foundation
import Larder
import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderRealtime
import LarderRealtimeBackend
import LarderTestSupport
import Testing

@testable import LarderTool

/// What the tool does to stores that may be the only copy of their data.
@Suite(.timeLimit(.minutes(10))) struct StoreRoleTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A backend's store with the documents cities/c0 to c9.
    private func makeBackend() async throws {
        let backend = try openBackend()
        let db = try client(of: backend)
        for number in 0..<10 { try await db.document("cities/c\(number)").setData(["n": number]) }
        try await db.terminate()
        try await backend.close()
    }

    private func openBackend() throws -> Backend {
        try Backend(
            BackendConfiguration(
                project: FirestoreConfiguration.inMemory.project, location: .directory(folder.store)
            ))
    }

    private func client(of backend: Backend) throws -> Firestore {
        var configuration = FirestoreConfiguration.inMemory
        configuration.backend = backend.connection
        return try Firestore(configuration: configuration)
    }

    /// A server's namespace with ten scores.
    private func makeNamespace(_ name: String = "shop") async throws {
        let backend = try RealtimeBackend(directory: folder.store)
        var configuration = DatabaseConfiguration.inMemory
        configuration.backend = backend.connection(to: name)
        let database = try Database(configuration: configuration)
        let scores = Dictionary(uniqueKeysWithValues: (0..<10).map { ("p\($0)", $0) })
        try await database.reference(withPath: "scores").setValue(scores)
        try await database.close()
        try await backend.close()
    }

    private func makeImport() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<50))
        let result = try Tool.run("import", file, "-c", "cities", "--id", "id", in: folder)
        #expect(result.status == 0, "\(result)")
    }

    private func figures() throws -> [String: Any] {
        try Tool.run("stat", "--json", in: folder).json()
    }

    private func expectRefusal(_ result: ToolResult, _ loss: String) {
        #expect(result.status == ExitStatus.configuration.rawValue, "\(result)")
        #expect(result.messages.contains(loss), "\(result)")
        #expect(result.messages.contains("--force"), "\(result)")
    }

    // MARK: Eviction

    @Test func `an only copy of documents is evicted by force alone`() async throws {
        for isBackend in [true, false] {
            try? FileManager.default.removeItem(atPath: folder.store)
            if isBackend { try await makeBackend() } else { try makeImport() }
            let before = try figures()
            #expect(before["role"] as? String == (isBackend ? "backend" : "imported"))
            let count = try #require(before["documentCount"] as? Int)
            expectRefusal(try Tool.run("evict", "0", in: folder), "\(count) documents")
            #expect(try figures()["documentCount"] as? Int == count)
            let forced = try Tool.run("evict", "0", "--force", in: folder)
            #expect(forced.output.contains("evicted \(count) documents"), "\(forced)")
        }
    }

    @Test func `a goal that the store has reached is no reason to refuse`() async throws {
        try await makeBackend()
        let result = try Tool.run("evict", "100%", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(try figures()["documentCount"] as? Int == 10)
    }

    @Test func `a backend's tree is not evicted, and its rows are counted`() async throws {
        try await makeNamespace()
        expectRefusal(try Tool.run("evict", "0", in: folder), "of trees")
        let export = try Tool.run("rtdb", "export", in: folder)
        #expect(export.output.contains("\"p9\":9"), "\(export)")
    }

    @Test func `a cache is evicted, with the number of tracked queries and rows`() async throws {
        let backend = RealtimeBackend()
        var configuration = DatabaseConfiguration(directory: folder.store)
        configuration.backend = backend.connection
        let database = try Database(configuration: configuration)
        try await database.reference(withPath: "a").setValue([
            "b": String(repeating: "x", count: 9_000)
        ])
        _ = try await database.reference(withPath: "a").getData()
        try await database.close()
        try await backend.close()
        #expect(try figures()["role"] as? String == "cache")
        let result = try Tool.run("evict", "0", "--json", in: folder).json()
        #expect(try #require(result["nodeRowCount"] as? Int) > 0)
        #expect(result["trackedQueryCount"] as? Int == 1)
    }

    @Test func `a store without a recorded role is refused, a backend's of before is known`()
        async throws
    {
        try makeImport()
        try forgetRole()
        #expect(try figures()["role"] is NSNull)
        expectRefusal(try Tool.run("evict", "0", in: folder), "50 documents")
        try FileManager.default.removeItem(atPath: folder.store)
        try await makeBackend()
        try forgetRole()
        #expect(try figures()["role"] as? String == "backend")
        try FileManager.default.removeItem(atPath: folder.store)
        try await makeNamespace()
        try forgetRole()
        #expect(try figures()["role"] as? String == "backend")
    }

    /// Makes the store one of a version that did not record roles.
    private func forgetRole() throws {
        let store = try Store(directory: folder.store)
        try store.write { transaction throws(LarderError) in
            try transaction.removeNamedValue(.global, "store.role")
        }
        try store.close()
    }

    @Test func `a budget does not evict what an earlier import wrote`() throws {
        try makeImport()
        let file = try folder.file("more.ndjson", generatedLines(50..<60))
        expectRefusal(
            try Tool.run("import", file, "-c", "b", "--id", "id", "--budget", "1MiB", in: folder),
            "50 documents")
        #expect(try figures()["documentCount"] as? Int == 50)
    }

    @Test func `a client without a backend evicts nothing of an import`() async throws {
        let lines = (0..<300).map { number in
            #"{"id": "d\#(number)", "text": "\#(String(repeating: "\(number) ", count: 2_000))"}"#
        }
        let file = try folder.file("in.ndjson", lines.joined(separator: "\n"))
        _ = try Tool.run("import", file, "-c", "cities", "--id", "id", in: folder)
        var configuration = FirestoreConfiguration(directory: folder.store)
        configuration.cacheSize = .bytes(1 << 20)
        let db = try Firestore(configuration: configuration)
        for number in 0..<20 {
            try await db.document("own/d\(number)").enqueueSetData(["n": number]).committedLocally()
        }
        try await db.terminate()
        #expect(try figures()["documentCount"] as? Int == 300)
    }

    // MARK: Writes

    @Test func `writes to a backend's store are commits that its clients receive`() async throws {
        try await makeBackend()
        let set = try Tool.run("set", "cities/c1", #"{"n": 100}"#, in: folder)
        #expect(
            set.status == 0 && set.output.contains("committed in the backend's store"), "\(set)")
        let json = try Tool.run("update", "cities/c2", "n=increment:40", "--json", in: folder)
            .json()
        #expect(json["state"] as? String == "acknowledged")
        #expect(try Tool.run("delete", "cities/c3", in: folder).status == 0)
        let missing = try Tool.run("update", "cities/none", "n=1", in: folder)
        #expect(missing.status != 0 && missing.messages.contains("cities/none"), "\(missing)")
        #expect(try figures()["pendingBatchCount"] as? Int == 0)
        let backend = try openBackend()
        let db = try client(of: backend)
        let documents = try await db.collection("cities").getDocuments(source: .server).documents
        #expect(documents.count == 9)
        #expect(documents.first { $0.documentID == "c1" }?.get("n") as? Int == 100)
        #expect(documents.first { $0.documentID == "c2" }?.get("n") as? Int == 42)
        try await db.terminate()
        try await backend.close()
    }

    @Test func `writes to a namespace's store are commits in its tree`() async throws {
        try await makeNamespace()
        let set = try Tool.run("rtdb", "set", "scores/p1", "100", in: folder)
        #expect(set.status == 0 && set.output.contains("acknowledged by the backend"), "\(set)")
        let trees = try #require(try figures()["trees"] as? [[String: Any]])
        #expect(trees.compactMap { $0["name"] as? String } == ["shop"])
        let got = try Tool.run("rtdb", "get", "scores/p1", in: folder)
        #expect(got.output == "100\n", "\(got)")
    }

    @Test func `bundles and pending writes of trees are not for a backend's store`() async throws {
        try await makeBackend()
        let file = try folder.file("empty.bundle", "")
        let loaded = try Tool.run("bundle", "load", file, in: folder)
        #expect(loaded.status == ExitStatus.configuration.rawValue, "\(loaded)")
        try FileManager.default.removeItem(atPath: folder.store)
        try await makeNamespace()
        let pending = try Tool.run("rtdb", "pending", in: folder)
        #expect(
            pending.status != 0 && pending.messages.contains("the store of a backend"), "\(pending)"
        )
    }

    @Test func `a client and a backend refuse each other's stores`() async throws {
        try await makeBackend()
        #expect(throws: (any Error).self) {
            try Firestore(configuration: FirestoreConfiguration(directory: folder.store))
        }
        #expect(throws: (any Error).self) {
            try Database(configuration: DatabaseConfiguration(directory: folder.store))
        }
        try FileManager.default.removeItem(atPath: folder.store)
        let db = try Firestore(configuration: FirestoreConfiguration(directory: folder.store))
        try await db.document("a/b").enqueueSetData(["n": 1]).committedLocally()
        try await db.terminate()
        let error = #expect(throws: LarderError.self) { try openBackend() }
        #expect(error?.message.contains("a client's cache") == true)
        #expect(throws: LarderError.self) { try RealtimeBackend(directory: folder.store) }
    }

    @Test func `a backend opens an import`() async throws {
        try makeImport()
        let backend = try openBackend()
        let db = try client(of: backend)
        #expect(try await db.collection("cities").getDocuments(source: .server).count == 50)
        try await db.terminate()
        try await backend.close()
        #expect(try figures()["role"] as? String == "backend")
    }

    // MARK: Local databases

    @Test func `a local database is evicted by force alone, and writes to it are final`()
        async throws
    {
        let db = try Firestore(configuration: .local(directory: folder.store))
        for number in 0..<3 { try await db.document("cities/c\(number)").setData(["n": number]) }
        try await db.terminate()
        #expect(try figures()["role"] as? String == "local")
        expectRefusal(try Tool.run("evict", "0", in: folder), "3 documents")
        let file = try folder.file("more.ndjson", generatedLines(0..<2))
        expectRefusal(
            try Tool.run("import", file, "-c", "b", "--id", "id", "--budget", "1MiB", in: folder),
            "3 documents")
        let set = try Tool.run("set", "cities/c1", #"{"n": 100}"#, in: folder)
        #expect(set.status == 0 && set.output.contains("which is final"), "\(set)")
        let update = try Tool.run("update", "cities/c2", "n=increment:40", "--json", in: folder)
            .json()
        #expect(update["state"] as? String == "final")
        let missing = try Tool.run("update", "cities/none", "n=1", in: folder)
        #expect(
            missing.status == ExitStatus.badData.rawValue
                && missing.messages.contains("cities/none"), "\(missing)")
        #expect(try Tool.run("delete", "cities/c0", in: folder).status == 0)
        #expect(try figures()["pendingBatchCount"] as? Int == 0)
        let export = try Tool.run("export", "cities", "--confirmed", "--id", "id", in: folder)
        #expect(export.lines.count == 2 && export.output.contains("42"), "\(export)")
        let forced = try Tool.run("evict", "0", "--force", in: folder)
        #expect(forced.output.contains("evicted 2 documents"), "\(forced)")
        #expect(try figures()["role"] as? String == "local")
    }

    @Test func `writes to a local database's tree are final`() async throws {
        let database = try Database(configuration: .local(directory: folder.store))
        try await database.reference(withPath: "scores/p1").setValue(1)
        try await database.close()
        #expect(try figures()["role"] as? String == "local")
        expectRefusal(try Tool.run("evict", "0", in: folder), "of trees")
        let set = try Tool.run("rtdb", "set", "scores/p2", "2", in: folder)
        #expect(set.status == 0 && set.output.contains("which is final"), "\(set)")
        let file = try folder.file("in.json", #"{"p3": 3}"#)
        let added = try Tool.run("rtdb", "import", file, "scores", "--merge", "--json", in: folder)
            .json()
        #expect(added["state"] as? String == "final")
        let pending = try Tool.run("rtdb", "pending", "--json", in: folder).json()
        #expect((pending["pending"] as? [Any])?.isEmpty == true, "\(pending)")
        let export = try Tool.run("rtdb", "export", in: folder)
        #expect(export.output.contains(#""scores":{"p1":1,"p2":2,"p3":3}"#), "\(export)")
    }

    // MARK: Exports

    @Test func `documents that are all pending are exported, listed and counted`() async throws {
        let db = try Firestore(configuration: FirestoreConfiguration(directory: folder.store))
        for number in 0..<3 {
            try await db.document("cities/c\(number)").enqueueSetData(["n": number])
                .committedLocally()
        }
        try await db.terminate()
        let export = try Tool.run("export", in: folder)
        #expect(export.lines.count == 3, "\(export)")
        #expect(export.lines.first?.contains("cities/c0") == true)
        #expect(try Tool.run("export", "cities", "--id", "id", in: folder).lines.count == 3)
        #expect(try Tool.run("export", "--confirmed", in: folder).lines.isEmpty)
        let list = try Tool.run("ls", "--json", in: folder).json()
        let collections = try #require(list["collections"] as? [[String: Any]])
        #expect(collections.compactMap { $0["documentCount"] as? Int } == [3])
        let documents = try Tool.run("ls", "cities", in: folder)
        #expect(documents.lines.count == 4 && documents.output.contains("pending"), "\(documents)")
        let figures = try figures()
        #expect(figures["documentCount"] as? Int == 0)
        #expect(figures["visibleDocumentCount"] as? Int == 3)
        let text = try Tool.run("stat", in: folder)
        #expect(text.output.contains("with pending writes"), "\(text)")
    }

    @Test func `an export has the documents that reads see, not those deleted by pending writes`()
        async throws
    {
        try makeImport()
        _ = try Tool.run("delete", "cities/d1", in: folder)
        _ = try Tool.run("set", "cities/d2", #"{"n": "changed"}"#, in: folder)
        let file = folder.path + "/out.ndjson"
        let export = try Tool.run("export", "--output", file, "--json", in: folder).json()
        #expect(export["documentCount"] as? Int == 49)
        #expect(export["pendingCount"] as? Int == 1)
        let text = try folder.content("out.ndjson")
        #expect(text.contains("changed") && !text.contains("\"cities/d1\""))
    }

    @Test func `a namespace is exported by its store, and a missing one is named`() async throws {
        try await makeNamespace("shop")
        let export = try Tool.run("rtdb", "export", in: folder)
        #expect(export.status == 0 && export.output.contains("\"p3\":3"), "\(export)")
        let named = try Tool.run("rtdb", "export", "--namespace", "shop", in: folder)
        #expect(named.output == export.output)
        let missing = try Tool.run("rtdb", "export", "--namespace", "toys", in: folder)
        #expect(missing.status == ExitStatus.noInput.rawValue, "\(missing)")
        #expect(missing.messages.contains("it has 'shop'"), "\(missing)")
        try await makeNamespace("toys")
        let ambiguous = try Tool.run("rtdb", "export", in: folder)
        #expect(ambiguous.status == ExitStatus.noInput.rawValue, "\(ambiguous)")
        #expect(ambiguous.messages.contains("'shop', 'toys'"), "\(ambiguous)")
        #expect(try Tool.run("rtdb", "export", "--namespace", "toys", in: folder).status == 0)
    }
}
