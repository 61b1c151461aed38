import Foundation
import Larder
import LarderBackend
import LarderTestSupport
import Testing

/// The code that the articles show does what they say.
@Suite struct DocumentationTests {
    @Test("the README's example finds the documents it wrote") func readme() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await largeCities(in: directory.file("cities")) == ["London"])
    }

    @Test("GettingStarted: a custom database, and the shared one's settings")
    func opening() async throws {
        let directory = try TemporaryDirectory()
        let db = try GettingStartedSnippets.open(directory.file("store"))
        #expect(try db.cacheUsage().limitBytes == Int64(500 * 1024 * 1024))
        try await db.terminate()
    }

    @Test("GettingStarted: a local database, whose writes are final")
    func local() async throws {
        let directory = try TemporaryDirectory()
        let db = try GettingStartedSnippets.openLocal(directory.file("store"))
        GettingStartedSnippets.write(db)
        #expect(try await GettingStartedSnippets.read(db) == 860_001)
        try await GettingStartedSnippets.batch(db)
        #expect(try await GettingStartedSnippets.query(db) == ["San Francisco", "Lyon"])
        #expect(try await GettingStartedSnippets.code(db).changed != nil)
        #expect(try await GettingStartedSnippets.aggregate(db).0 == 3)
        #expect(try await db.pendingWrites().isEmpty)
        try await db.terminate()
    }

    @Test("GettingStarted: writing, reading, querying, Codable models and aggregations")
    func gettingStarted() async throws {
        let db = try memoryDatabase()
        GettingStartedSnippets.write(db)
        #expect(try await GettingStartedSnippets.read(db) == 860_001)
        try await GettingStartedSnippets.batch(db)
        #expect(try await GettingStartedSnippets.query(db) == ["San Francisco", "Lyon"])
        let city = try await GettingStartedSnippets.code(db)
        #expect(city.id == "LON")
        #expect(city.changed == nil)
        let (count, average) = try await GettingStartedSnippets.aggregate(db)
        #expect(count == 3)
        #expect(average == Double(860_001 + 522_250 + 8_961_989) / 3)
    }

    @Test("GettingStarted: a listener receives the existing documents, then changes")
    func listening() async throws {
        let db = try memoryDatabase()
        try await db.document("cities/A").enqueueSetData(["name": "A"]).committedLocally()
        let lines = Recorder<String>()
        let registration = GettingStartedSnippets.listen(db) { lines.record($0) }
        #expect(await lines.first(1) == ["added A"])
        db.document("cities/B").enqueueSetData(["name": "B"])
        #expect(await lines.first(2) == ["added A", "added B"])
        registration.remove()
    }

    @Test("OfflineSemantics: own writes, documents never seen, the queue, taking a write back")
    func offline() async throws {
        let db = try memoryDatabase()
        #expect(try await OfflineSnippets.unseen(db))
        #expect(try await OfflineSnippets.ownWrites(db))
        let lines = try await OfflineSnippets.pending(db)
        #expect(lines.count == 1)
        #expect(lines[0].contains("cities/SF"))
        #expect(lines[0].hasSuffix("tried 0 times"))
        #expect(try await OfflineSnippets.cancel(db))
        let after = try await db.document("cities/SF").getDocument(source: .cache)
        #expect(after.get("population") as? Int == 860_000)
    }

    @Test("OfflineSemantics: transactions on the local view, estimated server times")
    func offlineTransactions() async throws {
        let db = try memoryDatabase()
        #expect(try await OfflineSnippets.transact(db) == 1)
        #expect(try await OfflineSnippets.transact(db) == 2)
        #expect(try await OfflineSnippets.timestamps(db) == (true, true))
    }

    @Test("Durability: a write is pending once it is committed, and found again by the next start")
    func durability() async throws {
        let directory = try TemporaryDirectory()
        let db = try diskDatabase(directory)
        let id = try await DurabilitySnippets.stages(db)
        try await DurabilitySnippets.group(db)
        try await db.terminate()
        let again = try diskDatabase(directory)
        let pending = try await again.pendingWrites()
        #expect(pending.count == 101)
        #expect(pending.first?.id == id)
        try await again.terminate()
    }

    @Test("IndexesAndExplain: the example's plan reads only the documents it returns")
    func indexes() async throws {
        let directory = try TemporaryDirectory()
        let db = try diskDatabase(directory)
        for number in 0..<200 {
            db.document("cities/\(number)").enqueueSetData([
                "country": number % 10 == 0 ? "FR" : "US", "population": number,
                "regions": ["r\(number % 3)"],
            ])
        }
        let scan = try await IndexSnippets.explain(db)
        #expect(scan.kind == "collection scan")
        #expect(scan.documentsScanned == 200)
        try await IndexSnippets.define(db)
        #expect(try db.indexes().count == 2)
        try await waitForIndexes(of: db)
        let explanation = try await IndexSnippets.explain(db)
        #expect(explanation.kind == "index scan")
        #expect(explanation.documentsScanned == 3)
        #expect(explanation.documentsReturned == 3)
        #expect(explanation.indexes == ["cities(country ASC, population DESC)"])
        try await IndexSnippets.defineOne(db)
        #expect(try db.indexes().count == 1)
        try await IndexSnippets.defineJSON(db)
        #expect(try db.indexes().map(\.index.fields.count) == [2])
        IndexSnippets.automatic(db)
        try await db.terminate()
    }

    @Test("IndexesAndExplain: an index of opposite directions, read backwards, is in order")
    func oppositeIndex() async throws {
        let db = try memoryDatabase()
        for number in 0..<200 {
            db.document("cities/\(number)").enqueueSetData([
                "country": number % 10 == 0 ? "FR" : "US", "population": number / 20,
            ])
        }
        try await db.setIndexes([
            CacheIndex("cities", [.ascending("country"), .ascending("population")])
        ])
        try await waitForIndexes(of: db)
        let explanation = try await IndexSnippets.explain(db)
        #expect(explanation.plan.hasSuffix("reversed, in order"))
        #expect(explanation.documentsScanned == 3)
    }

    @Test("TestingApplications: two clients, outages, refusals and restarts")
    func testingApplications() async throws {
        let café = try TestingSnippets.Café()
        #expect(try await TestingSnippets.online(café) == "tea")
        #expect(try await TestingSnippets.listen(café.client()) == 1)
        let (item, counts) = try await TestingSnippets.inspect(café)
        #expect(item == .string("tea"))
        #expect(counts == [1, 1, 0])
        let (waiting, after) = try await TestingSnippets.offline(café.client())
        #expect(waiting == 1)
        #expect(after == 0)
        let reasons = try await TestingSnippets.refused()
        #expect(reasons.count == 1)
        #expect(reasons.first?.contains("nobody is signed in") == true)
        let directory = try TemporaryDirectory()
        #expect(try await TestingSnippets.restart(directory.file("restart")) == 1)
    }

    @Test("OfflineSemantics: the sources without a network") func sources() async throws {
        let db = try memoryDatabase()
        let gone = db.document("cities/gone")
        gone.enqueueSetData(["name": "Gone"])
        #expect(try await gone.getDocument().exists)
        #expect(await code { _ = try await gone.getDocument(source: .server) } == .unavailable)
        gone.enqueueDelete()
        #expect(try await !gone.getDocument(source: .cache).exists)
        #expect(try await !gone.getDocument().exists)
        let unknown = db.document("cities/unknown")
        #expect(await code { _ = try await unknown.getDocument() } == .unavailable)
        let cities = db.collection("cities")
        #expect(try await cities.getDocuments().isEmpty)
        #expect(await code { _ = try await cities.getDocuments(source: .server) } == .unavailable)
        let count = cities.count
        #expect(try await count.getAggregation(source: .cache).count == 0)
        #expect(await code { _ = try await count.getAggregation(source: .server) } == .unavailable)
        let update = db.document("cities/none").enqueueUpdateData(["name": "None"])
        try await update.committedLocally()
        #expect(try await cities.getDocuments(source: .cache).isEmpty)
        #expect(try await db.pendingWrites().count == 3)
    }

    @Test("ComingFromFirebase: misuse is an error, numbers cast as on Apple's systems")
    func migration() async throws {
        let db = try memoryDatabase()
        #expect(await MigrationSnippets.misuse(db))
        let shared = Firestore.firestore(database: "documentation")
        MigrationSnippets.queue(shared)
        #expect(shared.settings.dispatchQueue.label == "shop.callbacks")
        db.document("cities/SF").enqueueSetData(
            ["population": 860_000, "area": 121.5, "capital": false])
        let snapshot = try await db.document("cities/SF").getDocument(source: .cache)
        #expect(MigrationSnippets.casts(snapshot) == (860_000, 121.5, false))
    }

    @Test("CacheTuning: budget, pins, eviction by hand, usage") func cache() async throws {
        let directory = try TemporaryDirectory()
        let db = try CacheSnippets.budget(directory.file("store"))
        let pin = CacheSnippets.pin(db)
        try await db.document("logs/1").enqueueSetData(["level": "debug"]).committedLocally()
        let report = try await CacheSnippets.evict(db)
        #expect(report.evictedCount == 0 && report.keptCount == 1)
        let usage = try CacheSnippets.usage(db)
        #expect(usage.pendingWriteCount == 1)
        #expect(usage.documentCount == 0)
        #expect(usage.limitBytes == Int64(64 * 1024 * 1024))
        pin.remove()
        try await db.terminate()
        #expect(CacheSnippets.memory().cacheSettings is MemoryCacheSettings)
    }

    @Test("Listeners: sequences, metadata, in sync, the queue as a sequence")
    func listeners() async throws {
        let db = try memoryDatabase()
        let drawn = Recorder<Bool>()
        let pending = Recorder<Bool>()
        let registrations = [
            ListeningSnippets.inSync(db) { drawn.record(true) },
            ListeningSnippets.metadata(db) { pending.record($0) },
        ]
        #expect(await pending.first(1) == [false])
        db.document("cities/SF").enqueueSetData(["country": "US"])
        #expect(await pending.first(2) == [false, true])
        #expect(try await ListeningSnippets.sequence(db, 1) == 1)
        #expect(try await ListeningSnippets.updates(db) == 1)
        #expect(try await ListeningSnippets.several(db) == 1)
        _ = await drawn.first(2)
        for registration in registrations { registration.remove() }
    }

    private func waitForIndexes(of db: Firestore) async throws {
        // Each step of filling is a turn of the engine; so is each of these.
        while try !IndexSnippets.state(db).isEmpty {
            _ = try await db.cancelPendingWrite(-1)
        }
    }

    @Test("OfflineAndBack: a backend, the network's state, refused writes")
    func offlineAndBack() async throws {
        var past = BackendConfiguration(project: "past")
        past.clock = { Timestamp(seconds: 1, nanoseconds: 0) }
        let old = try Backend(past)
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = past.project
        configuration.backend = old.connection
        let client = try Firestore(configuration: configuration)
        try await client.document("cities/gone").setData(["population": 0])
        try await client.document("cities/gone").delete()
        #expect(try BackendSnippets.forgetDeletes(of: old) == 1)
        try await client.terminate()
        let db = try BackendSnippets.open()
        try await db.document("cities/SF").setData(["population": 860_000])
        #expect(try await BackendSnippets.disable(db).reason == .disabled)
        try await BackendSnippets.retry(db)
        try await BackendSnippets.users(db)
        #expect(db.userID == nil)
        #expect(try await db.document("cities/SF").getDocument(source: .server).exists)
    }

    @Test("LoadingBundles: invalid data is rejected") func bundles() async throws {
        let db = try memoryDatabase()
        let bundle = Data("12{}".utf8)
        #expect(
            await code { _ = try await BundleSnippets.load(bundle, into: db) } == .invalidArgument)
    }
}

/// Every piece of Swift in the articles and the README is code that these tests compile.
@Suite struct DocumentationTextTests {
    @Test("every Swift block is, word for word, a region of the compiled snippets")
    func blocksAreCompiled() throws {
        let regions = try Self.regions()
        var blockCount = 0
        for file in try Self.texts() {
            for block in try Self.blocks(of: file) {
                blockCount += 1
                #expect(
                    regions[block] != nil,
                    "\(file.lastPathComponent) has a block that no snippet has:\n\(block)")
            }
        }
        #expect(blockCount > 20)
    }

    @Test("every region of the snippets is shown somewhere") func regionsAreShown() throws {
        let shown = Set(try Self.texts().flatMap(Self.blocks))
        for (region, name) in try Self.regions() {
            #expect(shown.contains(region), "nothing shows the snippet '\(name)'")
        }
    }

    private static let root = PackageDirectory.url

    /// The README, all articles, and the sources of the public module with their comments.
    private static func texts() throws -> [URL] {
        let sources = root.appending(path: "Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
        let files = paths.filter {
            $0.hasSuffix(".md") || ($0.contains("/API/") && $0.hasSuffix(".swift"))
        }
        return [root.appending(path: "README.md")]
            + files.sorted().map { sources.appending(path: $0) }
    }

    /// The Swift blocks of an article, or of the comments of a source file.
    private static func blocks(of file: URL) throws -> [String] {
        var lines = try lines(of: file)
        if file.pathExtension == "swift" {
            lines = lines.compactMap { line in
                guard let comment = line.firstRange(of: "///") else { return nil }
                return String(line[comment.upperBound...].dropFirst())
            }
        }
        return pieces(of: lines, from: { $0 == "```swift" }, to: "```").map(\.text)
    }

    /// The regions of the snippet files beside this one, with their names.
    private static func regions() throws -> [String: String] {
        let tests = root.appending(path: "Tests")
        let files = try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        var regions: [String: String] = [:]
        for file in files where file.hasSuffix("Snippets.swift") {
            let lines = try lines(of: tests.appending(path: file))
            for piece in pieces(of: lines, from: { $0.hasPrefix("// snippet: ") }, to: "// end") {
                regions[piece.text] = String(piece.opening.dropFirst("// snippet: ".count))
            }
        }
        return regions
    }

    /// What stands between opening and closing lines, moved to the left as far as it goes.
    private static func pieces(
        of lines: [String], from isOpening: (Substring) -> Bool, to closing: String
    ) -> [(opening: Substring, text: String)] {
        var pieces: [(opening: Substring, text: String)] = []
        var open: (opening: Substring, lines: [String])?
        for line in lines {
            let text = line.drop { $0 == " " }
            if let current = open, text == closing {
                pieces.append((current.opening, aligned(current.lines)))
                open = nil
            } else if open != nil {
                open?.lines.append(line)
            } else if isOpening(text) {
                open = (text, [])
            }
        }
        return pieces
    }

    private static func aligned(_ lines: [String]) -> String {
        let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
        let indent = indents.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
    }

    private static func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }
}
