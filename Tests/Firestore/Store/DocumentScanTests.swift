import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

private struct Refusal: Error {}

@Suite("Scans")
struct DocumentScanTests {
    private let store: Store
    private let cities: CollectionPath

    init() throws {
        store = try Store(.inMemory())
        cities = try CollectionPath("cities")
        let cities = cities
        try store.write { transaction in
            for (number, id) in ["c", "a", "__id10__", "b", "__id9__"].enumerated() {
                try transaction.put(
                    Record(["n": .integer(Int64(number))]), at: cities.document(id),
                    version: .at(Int64(10 - number)))
            }
            try transaction.putAbsent(at: cities.document("gone"), version: .at(20))
            try transaction.put(
                Record(["n": 7]), at: DocumentPath("x/y/cities/a"), version: .at(1))
        }
    }

    private func ids(_ source: DocumentSource, _ options: ScanOptions = ScanOptions()) throws
        -> [String]
    {
        try store.read { transaction in
            var ids: [String] = []
            try transaction.documents(in: source, options: options) { entry in
                ids.append(entry.id)
                return .continue
            }
            return ids
        }
    }

    @Test("a collection comes in name order, numeric ids first")
    func collectionOrder() throws {
        #expect(try ids(.collection(cities)) == ["__id9__", "__id10__", "a", "b", "c"])
        #expect(
            try ids(.collection(cities), ScanOptions(isReversed: true))
                == ["c", "b", "a", "__id10__", "__id9__"])
        #expect(try ids(.collection(CollectionPath("none"))) == [])
    }

    @Test("bounds are inclusive unless they say otherwise, in both directions")
    func bounds() throws {
        let all: [(ScanBound?, ScanBound?, [String])] = [
            (.id("a"), .id("b"), ["a", "b"]),
            (.id("a", isInclusive: false), .id("c", isInclusive: false), ["b"]),
            (.id("__id10__"), nil, ["__id10__", "a", "b", "c"]),
            (nil, .id("__id10__"), ["__id9__", "__id10__"]),
            (.id("aa"), .id("bb"), ["b"]),
            (.id("b"), .id("a"), []),
        ]
        for (start, end, expected) in all {
            let source = DocumentSource.collection(cities, from: start, to: end)
            #expect(try ids(source) == expected)
            #expect(try ids(source, ScanOptions(isReversed: true)) == expected.reversed())
        }
    }

    @Test("a collection group has the documents of every collection of its name")
    func group() throws {
        let paths = try store.read { transaction in
            try transaction.allDocuments(in: .group("cities")).map(\.path.string)
        }
        #expect(paths.count == 6)
        #expect(paths.last == "x/y/cities/a")
        let below = try store.read { transaction in
            try transaction.allDocuments(
                in: .group("cities", from: .path(DocumentPath("cities/c")))
            ).map(\.path.string)
        }
        #expect(below == ["cities/c", "x/y/cities/a"])
    }

    @Test("documents come in the order of read time from a version on")
    func readTime() throws {
        #expect(try ids(.readSince(.at(7), in: cities)) == ["b", "__id10__", "a", "c"])
        #expect(try ids(.readAfter(.at(7), in: cities)) == ["__id10__", "a", "c"])
        #expect(try ids(.readSince(.at(8), afterID: "__id10__", in: cities)) == ["a", "c"])
        #expect(
            try ids(.readSince(.none, in: cities), ScanOptions(includesAllStates: true)).count
                == 6)
    }

    @Test("absent documents come when all states are asked for")
    func allStates() throws {
        let options = ScanOptions(includesAllStates: true)
        #expect(try ids(.collection(cities), options).contains("gone"))
        let states = try store.read { transaction in
            try transaction.allDocuments(in: .collection(cities), options: options).map(\.state)
        }
        #expect(states.filter { $0 == .absent }.count == 1)
    }

    @Test("a scan of names reads no records")
    func namesOnly() throws {
        let documents = try store.read { transaction in
            try transaction.allDocuments(
                in: .collection(cities), options: ScanOptions(readsNamesOnly: true))
        }
        #expect(documents.map(\.id) == ["__id9__", "__id10__", "a", "b", "c"])
        #expect(documents.allSatisfy { $0.state == .notRead && $0.record == nil })
    }

    @Test("a closure ends the scan, by its answer or by an error")
    func stopping() throws {
        var seen = 0
        try store.read { transaction in
            try transaction.documents(in: .collection(cities)) { _ in
                seen += 1
                return seen == 2 ? .stop : .continue
            }
            #expect(throws: Refusal.self) {
                try transaction.documents(in: .collection(cities)) { _ in throw Refusal() }
            }
            #expect(try transaction.allDocuments(in: .collection(cities), limit: 3).count == 3)
            #expect(try transaction.allDocuments(in: .collection(cities), limit: 0).isEmpty)
        }
        #expect(seen == 2)
    }

    @Test("scans nest, each with its own position and decompressed part")
    func nesting() throws {
        let text = String(repeating: "long text ", count: 100)
        let field = PreparedField(try FieldPath("t"))
        try store.write { transaction throws in
            for id in 0..<4 {
                try transaction.put(
                    Record(["t": .string("\(id) " + text)]), at: DocumentPath("long/\(id)"),
                    version: .at(1))
            }
        }
        let source = DocumentSource.collection(try CollectionPath("long"))
        var pairs: [String] = []
        try store.read { transaction in
            try transaction.documents(in: source) { outer in
                let expected = Value.string("\(outer.id) " + text)
                #expect(try outer.record.value(at: field) == expected)
                try transaction.documents(in: source) { inner throws in
                    #expect(try inner.record.value(at: field) == .string("\(inner.id) " + text))
                    pairs.append(outer.id + inner.id)
                    return .continue
                }
                #expect(try outer.record.value(at: field) == expected)
                return .continue
            }
        }
        #expect(pairs.count == 16 && Set(pairs).count == 16)
    }

    @Test("unions and intersections give each document once, in name order")
    func sets() throws {
        let low = DocumentSource.collection(cities, to: .id("b"))
        let high = DocumentSource.collection(cities, from: .id("a"))
        let ends = DocumentSource.union([
            .collection(cities, from: .id("c")), .collection(cities, to: .id("__id9__")),
        ])
        #expect(try ids(.intersection([low, high])) == ["a", "b"])
        #expect(try ids(.union([high, low])) == ["__id9__", "__id10__", "a", "b", "c"])
        #expect(try ids(ends) == ["__id9__", "c"])
        #expect(try ids(.intersection([ends, high])) == ["c"])
        #expect(try ids(.union([])) == [])
        #expect(try ids(ends, ScanOptions(isReversed: true)) == ["c", "__id9__"])
        let numbers = try store.read { transaction in
            try transaction.allDocuments(in: ends).map { $0[try FieldPath("n")] }
        }
        #expect(numbers == [4, 0])
    }

    @Test("collections are listed with their counts, all or below one document")
    func collections() throws {
        try store.read { transaction in
            let all = try transaction.allCollections()
            #expect(all.map(\.path.string) == ["cities", "x/y/cities"])
            #expect(all.map(\.documentCount) == [5, 1])
            #expect(all.allSatisfy { $0.sizeBytes > 0 })
            let below = try transaction.allCollections(below: DocumentPath("x/y"))
            #expect(below.map(\.path.string) == ["x/y/cities"])
            #expect(try transaction.collection(at: cities)?.documentCount == 5)
            #expect(try transaction.collection(at: CollectionPath("none")) == nil)
            var seen = 0
            try transaction.collections { _ in
                seen += 1
                return .stop
            }
            #expect(seen == 1)
        }
    }
}
