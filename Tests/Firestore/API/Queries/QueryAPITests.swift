import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Queries through the API: matching, order and validation")
struct QueryAPITests {
    private func cities() throws -> (Firestore, CollectionReference) {
        let db = try memoryDatabase()
        let cities = db.collection("cities")
        let batch = db.batch()
        let all: [(String, [String: Any])] = [
            ("BJ", ["country": "China", "population": 21_500_000, "tags": ["north", "capital"]]),
            ("DC", ["country": "USA", "population": 680_000, "tags": ["east", "capital"]]),
            ("LA", ["country": "USA", "population": 3_900_000, "tags": ["west"]]),
            ("SF", ["country": "USA", "population": 860_000, "tags": ["west", "norcal"]]),
            ("TOK", ["country": "Japan", "population": 9_000_000, "tags": ["capital"]]),
            ("X", ["country": NSNull()]),
        ]
        for (id, data) in all { batch.setData(data, forDocument: cities.document(id)) }
        batch.enqueueCommit()
        return (db, cities)
    }

    /// The ids that a query gives, which are the same from every source.
    private func ids(_ query: Query) async throws -> [String] {
        let cached = try await query.getDocuments(source: .cache)
        let listened = try await query.getDocuments()
        #expect(cached.documents.map(\.documentID) == listened.documents.map(\.documentID))
        #expect(cached.count == cached.documents.count && cached.isEmpty == (cached.count == 0))
        return cached.documents.map(\.documentID)
    }

    @Test("Every operator, by a dotted name and by a path")
    func operators() async throws {
        let (_, cities) = try cities()
        let (name, path) = ("population", FieldPath(["population"]))
        let number = 860_000
        #expect(try await ids(cities.whereField(name, isEqualTo: number)) == ["SF"])
        #expect(try await ids(cities.whereField(path, isEqualTo: number)) == ["SF"])
        #expect(try await ids(cities.whereField(name, isLessThan: number)) == ["DC"])
        #expect(
            try await ids(cities.whereField(path, isLessThanOrEqualTo: number)) == ["DC", "SF"])
        #expect(try await ids(cities.whereField(name, isGreaterThan: 9_000_000)) == ["BJ"])
        #expect(
            try await ids(cities.whereField(path, isGreaterThanOrEqualTo: 9_000_000))
                == ["TOK", "BJ"])
        #expect(try await ids(cities.whereField("country", isNotEqualTo: "USA")) == ["BJ", "TOK"])
        #expect(
            try await ids(cities.whereField("country", in: ["China", "Japan"]))
                == ["BJ", "TOK"])
        #expect(try await ids(cities.whereField("country", notIn: ["USA", "Japan"])) == ["BJ"])
        #expect(try await ids(cities.whereField("tags", arrayContains: "west")) == ["LA", "SF"])
        #expect(
            try await ids(cities.whereField("tags", arrayContainsAny: ["norcal", "north"]))
                == ["BJ", "SF"])
        #expect(try await ids(cities.whereField("country", isEqualTo: NSNull())) == ["X"])
    }

    @Test("Composite filters join others")
    func composites() async throws {
        let (_, cities) = try cities()
        let filter = Filter.orFilter([
            .andFilter([
                .whereField("country", isEqualTo: "USA"),
                .whereField("population", isGreaterThan: 1_000_000),
            ]),
            .whereField("tags", arrayContains: "norcal"),
        ])
        // an inequality orders by its field.
        #expect(try await ids(cities.whereFilter(filter)) == ["SF", "LA"])
        #expect(try await ids(cities.whereFilter(.andFilter([]))).count == 6)
        #expect(
            try await ids(
                cities.whereFilter(.orFilter([.whereField("country", isEqualTo: "Japan")])))
                == ["TOK"])
    }

    @Test("Orders, limits and cursors by values and by documents")
    func ordersAndCursors() async throws {
        let (_, cities) = try cities()
        let query = cities.order(by: "population")
        #expect(try await ids(query) == ["DC", "SF", "LA", "TOK", "BJ"])
        #expect(
            try await ids(cities.order(by: "population", descending: true).limit(to: 2))
                == ["BJ", "TOK"])
        #expect(try await ids(query.limit(toLast: 2)) == ["TOK", "BJ"])
        #expect(try await ids(query.start(at: [860_000]).end(before: [9_000_000])) == ["SF", "LA"])
        #expect(
            try await ids(query.start(after: [860_000]).end(at: [9_000_000]))
                == ["LA", "TOK"])
        let snapshot = try await cities.document("LA").getDocument()
        #expect(try await ids(query.start(atDocument: snapshot)) == ["LA", "TOK", "BJ"])
        #expect(try await ids(query.start(afterDocument: snapshot)) == ["TOK", "BJ"])
        #expect(try await ids(query.end(atDocument: snapshot)) == ["DC", "SF", "LA"])
        #expect(try await ids(query.end(beforeDocument: snapshot)) == ["DC", "SF"])
        #expect(try await ids(cities.start(afterDocument: snapshot)) == ["SF", "TOK", "X"])
        #expect(
            try await ids(cities.order(by: FieldPath.documentID()).start(at: ["SF"]))
                == ["SF", "TOK", "X"])
    }

    @Test("The document id is compared with ids and references")
    func documentIDs() async throws {
        let (db, cities) = try cities()
        let id = FieldPath.documentID()
        #expect(try await ids(cities.whereField(id, isEqualTo: "SF")) == ["SF"])
        #expect(
            try await ids(cities.whereField(id, in: ["TOK", cities.document("BJ")]))
                == ["BJ", "TOK"])
        #expect(try await ids(cities.whereField(id, isGreaterThan: "SF")) == ["TOK", "X"])
        #expect(
            try await ids(db.collectionGroup("cities").whereField(id, isEqualTo: "cities/SF"))
                == ["SF"])
    }

    @Test("A collection group finds documents wherever the collection lies")
    func groups() async throws {
        let (db, cities) = try cities()
        cities.document("SF").collection("landmarks").document("bridge").enqueueSetData(["n": 1])
        db.document("landmarks/other").enqueueSetData(["n": 2])
        #expect(try await ids(db.collectionGroup("landmarks")) == ["bridge", "other"])
    }

    @Test("Misuse for which Apple's SDK terminates the program is an invalid argument")
    func refusals() async throws {
        let (db, cities) = try cities()
        let other = try memoryDatabase()
        let id = FieldPath.documentID()
        let ordered = cities.order(by: "population")
        let unknown = try await cities.document("X").getDocument()
        let missing = try await db.document("cities/SF").getDocument()
        db.document("cities/SF").enqueueUpdateData(["time": FieldValue.serverTimestamp()])
        let pending = try await db.document("cities/SF").getDocument()
        let queries: [Query] = [
            cities.whereField("a", isNotEqualTo: 1).whereField("b", isNotEqualTo: 2),
            cities.whereField("a", isNotEqualTo: 1).whereField("b", notIn: [2]),
            cities.whereField("a", notIn: [1]).whereField("b", notIn: [2]),
            cities.whereField("a", in: [1]).whereField("b", notIn: [2]),
            cities.whereField("a", arrayContainsAny: [1]).whereField("b", notIn: [2]),
            cities.whereField("a", in: []), cities.whereField("a", notIn: []),
            cities.whereField("a", arrayContainsAny: []),
            cities.whereField(id, arrayContains: "x"), cities.whereField(id, isEqualTo: ""),
            cities.whereField(id, isEqualTo: "a/b"), cities.whereField(id, isEqualTo: 1),
            db.collectionGroup("cities").whereField(id, isEqualTo: "SF"),
            db.collectionGroup(""), db.collectionGroup("a/b"),
            ordered.start(at: [1]).order(by: "country"), ordered.end(at: [1]).order(by: "country"),
            cities.limit(to: 0), cities.limit(to: -1), ordered.limit(toLast: 0),
            cities.limit(toLast: 1), ordered.start(at: [1, 2]), cities.start(at: [1]),
            ordered.start(at: []), ordered.start(atDocument: unknown),
            cities.order(by: "none").end(atDocument: missing),
            cities.order(by: "time").start(afterDocument: pending),
            cities.order(by: id).start(at: [1]), cities.order(by: id).start(at: ["a/b"]),
            cities.whereField("a", isEqualTo: FieldValue.serverTimestamp()),
            cities.whereField("a", isEqualTo: [[1]]), cities.whereField("a..b", isEqualTo: 1),
            cities.order(by: ""), cities.whereField("a", isEqualTo: { 1 }),
            cities.whereFilter(
                .orFilter([.whereField("a", in: []), .whereField("b", isEqualTo: 1)])),
        ]
        for (position, query) in queries.enumerated() {
            let later = query.whereField("z", isEqualTo: 1)
            for source in [FirestoreSource.default, .cache, .server] {
                #expect(
                    await code { _ = try await query.getDocuments(source: source) }
                        == .invalidArgument, "query \(position), \(source)")
            }
            #expect(await code { _ = try await later.explain() } == .invalidArgument)
            #expect(
                await code { _ = try await query.count.getAggregation(source: .cache) }
                    == .invalidArgument, "query \(position)")
            #expect(await code { for try await _ in query.snapshots {} } == .invalidArgument)
        }
        let foreign = cities.whereField("a", isEqualTo: other.document("a/x"))
        #expect(await code { _ = try await foreign.getDocuments() } == nil)
        let heard = Recorder<Int>()
        queries[0].addSnapshotListener { snapshot, error in
            heard.record(snapshot == nil ? (error as NSError?)?.code ?? 0 : -1)
        }
        #expect(await heard.first(1) == [FirestoreErrorCode.invalidArgument.rawValue])
    }

    @Test("The server is unavailable, the cache answers with nothing where nothing matches")
    func offline() async throws {
        let db = try memoryDatabase()
        let empty = db.collection("none")
        for source in [FirestoreSource.default, .cache] {
            let snapshot = try await empty.getDocuments(source: source)
            #expect(snapshot.isEmpty && snapshot.metadata.isFromCache)
            #expect(!snapshot.metadata.hasPendingWrites && snapshot.documentChanges.isEmpty)
            #expect(snapshot.query == empty)
        }
        #expect(await code { _ = try await empty.getDocuments(source: .server) } == .unavailable)
    }

    @Test("Queries are equal if they are the same query of the same database")
    func equality() throws {
        let (db, cities) = try cities()
        let query = cities.whereField("a", isEqualTo: 1).order(by: "b")
        #expect(query == db.collection("cities").whereField("a", isEqualTo: 1).order(by: "b"))
        #expect(query != cities.whereField("a", isEqualTo: 2).order(by: "b"))
        #expect(
            query
                != (try memoryDatabase()).collection("cities")
                .whereField("a", isEqualTo: 1).order(by: "b"))
        #expect(Set([query, query]).count == 1)
    }

    @Test("explain() reports the plan and the data read")
    func explaining() async throws {
        let (_, cities) = try cities()
        let explanation = try await cities.whereField("country", isEqualTo: "USA").explain()
        #expect(explanation.documentsReturned == 3 && explanation.documentsScanned == 6)
        #expect(!explanation.kind.isEmpty && explanation.indexes.isEmpty)
        #expect(explanation.alternatives.contains { $0.isChosen })
        #expect(explanation.description.contains("3 returned"))
    }

    @Test("Aggregates are exact over the cache, and the server's are unavailable")
    func aggregates() async throws {
        let (_, cities) = try cities()
        let usa = cities.whereField("country", isEqualTo: "USA")
        let (sum, average) = (
            AggregateField.sum("population"), AggregateField.average("population")
        )
        let (low, high) = (
            AggregateField.minimum("population"), AggregateField.maximum(FieldPath(["population"]))
        )
        let query = usa.aggregate([.count(), sum, average, low, high, .count()])
        let figures = try await query.getAggregation(source: .cache)
        #expect(figures.count == 3 && figures.query == query)
        #expect(figures.get(sum) as? Int == 5_440_000)
        #expect(figures.get(average) as? Double == 5_440_000.0 / 3)
        #expect(figures.get(low) as? Int == 680_000 && figures.get(high) as? Int == 3_900_000)
        #expect(figures.get(.sum("other")) is NSNull)
        let nothing = try await cities.whereField("country", isEqualTo: "none")
            .aggregate([average, sum]).getAggregation(source: .cache)
        #expect(nothing.get(average) is NSNull && nothing.get(sum) as? Int == 0)
        #expect(nothing.count == 0)
        #expect(
            await code { _ = try await usa.count.getAggregation(source: .server) }
                == .unavailable)
        #expect(
            await code { _ = try await usa.aggregate([]).getAggregation(source: .cache) }
                == .invalidArgument)
        let six = ["a", "b", "c", "d", "e", "f"].map { AggregateField.sum($0) }
        for source in [AggregateSource.cache, .server] {
            #expect(
                await code { _ = try await usa.aggregate(six).getAggregation(source: source) }
                    == .invalidArgument)
        }
        // Only documents with all aggregated fields count.
        let both = usa.aggregate([.count(), .sum("other")])
        #expect(try await both.getAggregation(source: .cache).count == 0)
        #expect(
            await code {
                _ = try await usa.aggregate([.sum("a..b")]).getAggregation(source: .cache)
            } == .invalidArgument)
    }
}
