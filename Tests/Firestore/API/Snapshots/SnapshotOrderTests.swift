import Dispatch
import Larder
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization
import Testing

@Suite("Snapshots and writes in the order of the calls")
struct SnapshotOrderTests {
    private let queue = DispatchQueue(label: "larder.tests.order")

    private func open(
        isLocal: Bool = true, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration.inMemory
        configuration.isLocal = isLocal
        configuration.callbackQueue = queue
        change(&configuration)
        return try Firestore(configuration: configuration)
    }

    @Test(
        "A first snapshot has no later write, and each write has a snapshot",
        arguments: [true, false])
    func documents(isLocal: Bool) async throws {
        let db = try open(isLocal: isLocal)
        for round in 0..<20 {
            let document = db.document("c/\(round)")
            let heard = Recorder<Int>()
            document.enqueueSetData(["n": 0])
            let listener = document.addSnapshotListener { snapshot, _ in
                heard.record(snapshot?.data()?["n"] as? Int ?? -1)
            }
            for number in 1...6 { document.enqueueSetData(["n": number]) }
            #expect(await heard.first(7) == Array(0...6))
            for number in 7..<20 { document.enqueueUpdateData(["n": number]) }
            #expect(await heard.first(20) == Array(0..<20))
            listener.remove()
        }
    }

    @Test("Batches are one change, and a limited query is filled after each write")
    func limits() async throws {
        let db = try open()
        let items = db.collection("c")
        for number in 0..<20 { items.document("\(10 + number)").enqueueSetData(["n": number]) }
        let (first, last) = (Recorder<String>(), Recorder<String>())
        func listen(_ query: Larder.Query, _ heard: Recorder<String>) -> any ListenerRegistration {
            query.addSnapshotListener { snapshot, _ in
                let ids = snapshot?.documents.map(\.documentID) ?? ["error"]
                heard.record(ids.joined(separator: " "))
            }
        }
        let listeners = [
            listen(items.order(by: "n").limit(to: 2), first),
            listen(items.order(by: "n").limit(toLast: 2), last),
        ]
        for number in 0..<3 {
            items.document("\(10 + number)").enqueueDelete()
            let batch = db.batch()
            batch.deleteDocument(items.document("\(29 - 2 * number)"))
            batch.deleteDocument(items.document("\(28 - 2 * number)"))
            batch.enqueueCommit()
        }
        #expect(await first.first(4) == ["10 11", "11 12", "12 13", "13 14"])
        #expect(await last.first(4) == ["28 29", "26 27", "24 25", "22 23"])
        for listener in listeners { listener.remove() }
    }

    @Test("A listener that falls behind gets the snapshots after the first 32 as one")
    func joining() async throws {
        let db = try open()
        let items = db.collection("c")
        let listener = DifferentialListener(
            TestQuery(Query(.collection(try CollectionPath("c")))), items, includesMetadata: false)
        await listener.loaded()
        queue.suspend()
        for number in 0..<99 { items.document("\(number % 40)").enqueueSetData(["n": number]) }
        try await items.document("0").enqueueSetData(["n": 99]).committedLocally()
        queue.resume()
        await db.drainCallbacks()
        #expect(listener.snapshotCount == 33)
        let (documents, violation) = listener.replayed
        #expect(violation == nil)
        #expect(documents.count == 40 && documents.first?.data()["n"] as? Int == 99)
        listener.remove()
    }

    @Test("Changes that cancel each other while they wait are not shown")
    func cancelling() async throws {
        let db = try open()
        let items = db.collection("c")
        let counts = Recorder<Int>()
        let listener = items.addSnapshotListener { snapshot, _ in
            counts.record(snapshot?.count ?? -1)
        }
        _ = await counts.first(1)
        queue.suspend()
        for number in 0..<31 { items.document("\(number)").enqueueSetData([:]) }
        for _ in 0..<5 {
            items.document("x").enqueueSetData([:])
            items.document("x").enqueueDelete()
        }
        try await db.document("d/y").enqueueSetData([:]).committedLocally()
        queue.resume()
        await db.drainCallbacks()
        #expect(counts.elements == Array(0...31))
        listener.remove()
    }

    @Test("A sequence joins what waits, and a configuration the writes of a commit")
    func sequences() async throws {
        let db = try open { $0.snapshotGrouping = .eachCommit }
        let items = db.collection("c")
        var snapshots = items.snapshots.makeAsyncIterator()
        #expect(try await snapshots.next()?.isEmpty == true)
        for number in 0..<500 { items.document("\(number)").enqueueSetData([:]) }
        try await items.document("x").enqueueSetData([:]).committedLocally()
        var (count, snapshotCount) = (0, 0)
        while count < 501, let snapshot = try await snapshots.next() {
            #expect(snapshot.documentChanges.count == snapshot.count - count)
            count = snapshot.count
            snapshotCount += 1
        }
        #expect(count == 501 && snapshotCount <= 33)
    }

    @Test(
        "When a write has returned, the listeners before it have seen it", arguments: [true, false])
    func returned(isLocal: Bool) async throws {
        let world = try World()
        let db = try open(isLocal: isLocal) {
            $0.project = "test"
            if !isLocal { $0.backend = world.network.connection }
        }
        for round in 0..<100 {
            let document = db.document("c/\(round)")
            let last = Mutex<Int?>(nil)
            let query = db.collection("c").whereField("n", isEqualTo: round)
            let listeners = [
                document.addSnapshotListener { snapshot, _ in
                    last.withLock { $0 = snapshot?.data()?["n"] as? Int }
                }, query.addSnapshotListener { _, _ in },
            ]
            try await document.setData(["n": round])
            #expect(last.withLock { $0 } == round)
            for listener in listeners { listener.remove() }
        }
        try await db.terminate()
    }

    @Test("Random writes in bursts: every listener has the result of each, from its call on")
    func random() async throws {
        let base = SeededRandom()
        print(base)
        var random = base
        let world = try DifferentialWorld()
        let db = try open()
        var model = DifferentialModel()
        for round in 0..<60 {
            var listeners: [(heard: ResultRecorder, expected: [ResultRecorder.Result])] = []
            for _ in 0..<28 {
                if random.oneIn(5) {
                    let query = TestQuery(&random, in: world, model.documents)
                    let heard = ResultRecorder(query.content)
                    heard.listen(to: try await query.query(in: db))
                    listeners.append((heard, [model.results(of: query.content)]))
                }
                let writes = (0..<(random.oneIn(3) ? 3 : 1)).map { _ in
                    random.testWrite(at: random.pick(world.paths))
                }.filter { write in
                    (try? write.mutation.transforms.isEmpty) == true
                }
                let batch = db.batch()
                for write in writes { write.add(to: batch, in: db) }
                batch.enqueueCommit()
                _ = model.write(try writes.map { try $0.mutation })
                for index in listeners.indices {
                    let results = model.results(of: listeners[index].heard.query)
                    if results != listeners[index].expected.last {
                        listeners[index].expected.append(results)
                    }
                }
            }
            // Returns when the listeners before it have their first results.
            try await db.document("end/\(round)").setData([:])
            await db.drainCallbacks()
            for (heard, expected) in listeners {
                heard.stop()
                try #require(
                    heard.isEqual(to: expected),
                    """
                    round \(round), \(heard.query)
                    heard    \(heard.names)
                    expected \(expected.map { $0.map(\.path.string) })
                    \(base)
                    """)
            }
        }
        try await db.terminate()
    }
}

/// The results that a listener hears, one after the other.
private final class ResultRecorder: Sendable {
    typealias Result = [Document]

    struct Document: Equatable {
        let path: DocumentPath
        let fields: MapValue
    }

    let query: LarderQuery.Query
    private let results = Mutex<[[QueryDocumentSnapshot]]>([])
    private let registration = Mutex<(any ListenerRegistration)?>(nil)

    init(_ query: LarderQuery.Query) {
        self.query = query
    }

    func listen(to query: Larder.Query) {
        let registration = query.addSnapshotListener { [weak self] snapshot, _ in
            self?.results.withLock { $0.append(snapshot?.documents ?? []) }
        }
        self.registration.withLock { $0 = registration }
    }

    func stop() {
        registration.withLock { $0 }?.remove()
    }

    var names: [[String]] { results.withLock { $0.map { $0.map(\.reference.path) } } }

    func isEqual(to expected: [Result]) -> Bool {
        let results = results.withLock { $0 }
        return results.count == expected.count
            && zip(results, expected).allSatisfy { heard, expected in
                heard.count == expected.count
                    && zip(heard, expected).allSatisfy { document, expected in
                        document.reference.path == expected.path.string
                            && DifferentialRun.difference(document.data(), expected.fields) == nil
                    }
            }
    }
}

extension DifferentialModel {
    /// What a query finds now.
    fileprivate func results(of query: LarderQuery.Query) -> ResultRecorder.Result {
        NaiveEvaluator(query).documents(among: documents).map {
            ResultRecorder.Document(path: $0, fields: documents[$0] ?? [:])
        }
    }
}
