import Foundation
import Larder
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

/// bundles through the API.
@Suite struct LoadBundleTaskTests {
    private func database(_ callbacks: DispatchQueue? = nil) throws -> Firestore {
        var configuration = FirestoreConfiguration.inMemory
        configuration.callbackQueue = callbacks
        configuration.project = "p"
        configuration.database = "d"
        return try Firestore(configuration: configuration)
    }

    /// Some cities, those of more than 1 as the query `large`.
    private func bundle(_ count: Int = 3, at seconds: Int64 = 10) throws -> Data {
        var text = BundleText()
        let large = LarderQuery.Query(
            .collection(try CollectionPath("cities")),
            filters: [.field(FieldFilter(try FieldPath("n"), .greaterThan, .integer(1)))],
            orders: [Order(try FieldPath("n"))], limit: .last(2))
        text.add(large, named: "large", at: seconds)
        for number in 0..<count {
            text.add(
                "cities/\(number)", ["n": .integer(Int64(number))], at: seconds,
                queries: number > 1 ? ["large"] : [])
        }
        text.add("cities/gone", nil, at: seconds)
        return Data(text.bytes(createTime: seconds))
    }

    @Test("documents, including absent ones, and named queries are loaded")
    func loads() async throws {
        let db = try database()
        let progress = try await db.loadBundle(bundle())
        #expect(progress.state == .success)
        #expect(progress.documentsLoaded == 4 && progress.totalDocuments == 4)
        #expect(progress.bytesLoaded == progress.totalBytes)
        #expect(try await db.collection("cities").getDocuments(source: .cache).count == 3)
        #expect(try await !db.document("cities/gone").getDocument(source: .cache).exists)
        let query = try #require(await db.getQuery(named: "large"))
        let found = try await query.getDocuments(source: .cache)
        #expect(found.documents.map(\.documentID) == ["2"])
        #expect(
            query
                == db.collection("cities").whereField("n", isGreaterThan: 1).order(by: "n")
                .limit(toLast: 2))
        #expect(await db.getQuery(named: "small") == nil)
        try await db.terminate()
    }

    @Test("observers receive each progress, then the end; removed ones receive nothing")
    func observers() async throws {
        let callbacks = DispatchQueue(label: "callbacks")
        let db = try database(callbacks)
        let heard = Recorder<LoadBundleTaskProgress>()
        let others = Recorder<LoadBundleTaskProgress>()
        let finished = Recorder<LoadBundleTaskProgress>()
        // No event is delivered before all observers are there.
        callbacks.suspend()
        let task = db.loadBundle(try bundle()) { progress, error in
            #expect(error == nil)
            if let progress { finished.record(progress) }
        }
        task.addObserver { heard.record($0) }
        let handle = task.addObserver { others.record($0) }
        task.removeObserverWith(handle: handle)
        task.removeObserverWith(handle: handle + 1)
        callbacks.resume()
        let last = try #require(await finished.first(1).first)
        #expect(last.state == .success)
        #expect(heard.elements.count > 1 && heard.elements.last == last)
        #expect(
            heard.elements.map(\.documentsLoaded).sorted() == heard.elements.map(\.documentsLoaded))
        #expect(heard.elements.dropLast().allSatisfy { $0.state == .inProgress })
        #expect(others.elements.isEmpty)
        // A later observer receives the end, unless it was removed again.
        let late = Recorder<LoadBundleTaskProgress>()
        task.addObserver { late.record($0) }
        #expect(await late.first(1) == [last])
        callbacks.suspend()
        task.addObserver { others.record($0) }
        task.removeAllObservers()
        callbacks.resume()
        await db.drainCallbacks()
        #expect(others.elements.isEmpty && late.elements == [last])
        try await db.terminate()
    }

    @Test("a bundle can be loaded from a stream")
    func stream() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("bundle")
        try bundle(2_000).write(to: URL(fileURLWithPath: file))
        let db = try database()
        let stream = try #require(InputStream(fileAtPath: file))
        let progress = try await db.loadBundle(stream)
        #expect(progress.documentsLoaded == 2_001)
        #expect(try await db.collection("cities").getDocuments(source: .cache).count == 2_000)
        let missing = try #require(InputStream(fileAtPath: directory.file("none")))
        #expect(await code { _ = try await db.loadBundle(missing) } == .unavailable)
        try await db.terminate()
    }

    @Test("listeners receive a bundle's documents")
    func listeners() async throws {
        let db = try database()
        var counts: [Int] = []
        for try await snapshot in db.collection("cities").snapshots {
            counts.append(snapshot.count)
            if snapshot.isEmpty { db.loadBundle(try bundle()) { _, _ in } }
            if snapshot.count == 3 { break }
        }
        #expect(counts == [0, 3])
        try await db.terminate()
    }

    @Test("loading a large bundle does not block other work")
    func fairness() async throws {
        let db = try database()
        let data = try bundle(5_000)
        async let loading = db.loadBundle(data)
        for number in 0..<20 {
            let document = db.document("own/\(number)")
            try await document.enqueueSetData(["n": number]).committedLocally()
        }
        #expect(try await loading.state == .success)
        #expect(try await db.collection("own").getDocuments(source: .cache).count == 20)
        try await db.terminate()
    }

    @Test("a bundle of nothing fails with Apple's code")
    func nothing() async throws {
        let db = try database()
        #expect(await code { _ = try await db.loadBundle(Data()) } == .unknown)
        #expect(await code { _ = try await db.loadBundle(InputStream(data: Data())) } == .unknown)
        #expect(await code { _ = try await db.loadBundle(Data("x".utf8)) } == .invalidArgument)
        try await db.terminate()
    }

    @Test("a malformed bundle fails, and observers receive the progress so far")
    func malformed() async throws {
        let db = try database()
        let whole = try bundle()
        let heard = Recorder<LoadBundleTaskProgress>()
        let failed = Recorder<Int>()
        let task = db.loadBundle(whole.dropLast(10)) { progress, error in
            #expect(progress == nil)
            failed.record((error as NSError?)?.code ?? 0)
        }
        task.addObserver { heard.record($0) }
        #expect(await failed.first(1) == [FirestoreErrorCode.invalidArgument.rawValue])
        // An observer that was added after the end is called after the one that waits for it.
        await db.drainCallbacks()
        #expect(heard.elements.last?.state == .error)
        #expect(heard.elements.last?.totalDocuments == 4)
        #expect(
            await code { _ = try await db.loadBundle(Data("no bundle".utf8)) } == .invalidArgument)
        // It is tried again as a whole.
        #expect(try await db.loadBundle(whole).state == .success)
        try await db.terminate()
        #expect(await code { _ = try await db.loadBundle(whole) } == .failedPrecondition)
        #expect(await db.getQuery(named: "large") == nil)
    }

    @Test("newer documents of the backend win over a bundle, and queries resume from it")
    func backend() async throws {
        var configuration = FirestoreConfiguration.inMemory
        let world = try World(project: "p", database: "d")
        try await world.set("cities/1", ["n": 100])
        try await world.set("cities/9", ["n": 9])
        configuration.database = "d"
        let db = try world.database(configuration)
        #expect(try await db.document("cities/1").getDocument().get("n") as? Int == 100)
        try await db.loadBundle(bundle())
        #expect(
            try await db.document("cities/1").getDocument(source: .cache).get("n") as? Int == 100)
        let query = try #require(await db.getQuery(named: "large"))
        let cached = try await query.getDocuments(source: .cache)
        #expect(cached.metadata.freshness.readTime == Timestamp(seconds: 10, nanoseconds: 0))
        let found = try await query.getDocuments(source: .server)
        #expect(found.documents.map(\.documentID) == ["9", "1"])
        try await db.terminate()
    }
}
