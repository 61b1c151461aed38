import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Indexes")
struct IndexDefinitionTests {
    private let store: Store
    private let cities: CollectionPath
    private let population: IndexDefinition

    init() throws {
        store = try Store(.inMemory())
        cities = try CollectionPath("cities")
        population = IndexDefinition(
            collectionGroup: "cities",
            segments: [IndexDefinition.Segment(try FieldPath("population"))])
    }

    private func put(_ id: String, _ fields: MapValue) throws {
        try store.write { transaction in
            try transaction.put(Record(fields), at: cities.document(id), version: .at(1))
        }
    }

    private func ids(_ source: DocumentSource, isReversed: Bool = false) throws -> [String] {
        try store.read { transaction in
            try transaction.allDocuments(
                in: source, options: ScanOptions(isReversed: isReversed)
            ).map(\.id)
        }
    }

    @Test("an index of an empty group is complete and follows every write")
    func followsWrites() throws {
        let id = try store.write { try $0.defineIndex(population) }
        #expect(try store.read { try $0.index(id)?.isComplete } == true)
        try put("b", ["population": 2])
        try put("a", ["population": 3])
        try put("c", ["population": 1.5])
        try put("none", ["name": "x"])
        #expect(try ids(.index(id)) == ["c", "b", "a"])
        #expect(try ids(.index(id), isReversed: true) == ["a", "b", "c"])
        try put("b", ["population": 9])
        try store.write { try $0.remove(cities.document("c")) }
        #expect(try ids(.index(id)) == ["a", "b"])
        #expect(try store.check().isClean)
    }

    @Test("the same definition is one index")
    func defineTwice() throws {
        let first = try store.write { try $0.defineIndex(population) }
        let second = try store.write { try $0.defineIndex(population) }
        #expect(first == second)
        let indexes = try store.read { try $0.indexes() }
        #expect(indexes.map(\.definition) == [population])
    }

    @Test("bounds are order bytes, inclusive or not")
    func bounds() throws {
        let id = try store.write { try $0.defineIndex(population) }
        for number in 0..<10 { try put("\(number)", ["population": .integer(Int64(number))]) }
        try put("text", ["population": "x"])
        func bound(_ value: Value, _ isInclusive: Bool) throws -> ScanBound {
            .orderBytes(try EncodedValue(value).orderBytes(), isInclusive: isInclusive)
        }
        #expect(try ids(.index(id, from: bound(3, true), to: bound(5, true))) == ["3", "4", "5"])
        #expect(try ids(.index(id, from: bound(3, false), to: bound(5, false))) == ["4"])
        #expect(
            try ids(.index(id, in: cities, from: bound(5.0, true), to: bound(5, true)))
                == ["5"])
        let (low, high) = (
            try EncodedValue.orderBytes(.before, .string),
            try EncodedValue.orderBytes(.after, .string)
        )
        #expect(try ids(.index(id, from: .orderBytes(low), to: .orderBytes(high))) == ["text"])
    }

    @Test("several segments, descending ones and names with dots order together")
    func segments() throws {
        let definition = IndexDefinition(
            collectionGroup: "cities",
            segments: [
                IndexDefinition.Segment(try FieldPath("state")),
                IndexDefinition.Segment(try FieldPath("a.b", "c"), .descending),
            ])
        let id = try store.write { try $0.defineIndex(definition) }
        for (name, state, number) in [("a", "CA", 1), ("b", "CA", 2), ("c", "AZ", 3)] {
            try put(name, ["state": .string(state), "a.b": ["c": .integer(Int64(number))]])
        }
        #expect(try ids(.index(id)) == ["c", "b", "a"])
        #expect(try store.read { try $0.index(id)?.definition } == definition)
        #expect(try store.read { try $0.index(id)?.entryCount } == 3)
    }

    @Test("a contains segment has an entry for each element")
    func contains() throws {
        let definition = IndexDefinition(
            collectionGroup: "cities",
            segments: [IndexDefinition.Segment(try FieldPath("tags"), .contains)])
        let id = try store.write { try $0.defineIndex(definition) }
        try put("a", ["tags": ["x", "y"]])
        try put("b", ["tags": ["y", "z"]])
        try put("c", ["tags": "y"])
        let y = ScanBound.orderBytes(try EncodedValue("y").orderBytes())
        #expect(try ids(.index(id, from: y, to: y)) == ["a", "b"])
    }

    @Test("an index of a full group is filled in bounded steps")
    func backfill() throws {
        try store.write { transaction throws in
            for number in 0..<100 {
                try transaction.put(
                    Record(["population": .integer(Int64(number))]),
                    at: cities.document("\(number)"), version: .at(1))
            }
        }
        let id = try store.write { try $0.defineIndex(population) }
        #expect(try store.read { try $0.index(id)?.isComplete } == false)
        var steps = 0
        var progress: BackfillProgress
        repeat {
            progress = try store.write { try $0.backfillIndex(id, maxDocuments: 30) }
            steps += 1
            #expect(progress.totalCount == 100 && progress.doneCount <= 100)
        } while !progress.isComplete && steps < 100
        #expect(progress.doneCount == 100)
        #expect(steps >= 4)
        #expect(try ids(.index(id)) == (0..<100).map(String.init))
        #expect(try store.check().isClean)
    }

    @Test("an entry says its order bytes, other scans have none")
    func entryBytes() throws {
        let id = try store.write { try $0.defineIndex(population) }
        try put("a", ["population": 3])
        let expected = try EncodedValue(3).orderBytes()
        try store.read { transaction in
            try transaction.documents(in: .index(id)) { entry throws in
                #expect(entry.indexOrderBytes == expected)
                return .continue
            }
            try transaction.documents(in: .collection(cities)) { entry throws in
                #expect(entry.indexOrderBytes == nil)
                return .continue
            }
        }
    }

    @Test("a dropped index goes in bounded steps and cannot be scanned")
    func dropping() throws {
        let id = try store.write { try $0.defineIndex(population) }
        for number in 0..<10 { try put("\(number)", ["population": .integer(Int64(number))]) }
        var steps = 1
        while try !store.write({ try $0.dropIndex(id, maxEntries: 4) }) { steps += 1 }
        #expect(steps == 3)
        #expect(try store.read { try $0.index(id) } == nil)
        let error = #expect(throws: LarderError.self) { try ids(.index(id)) }
        #expect(error?.kind == .notFound)
        #expect(try store.statistics().indexes.rowCount == 0)
    }

    @Test("an intersection of two indexes contains the documents of both")
    func intersection() throws {
        let state = IndexDefinition(
            collectionGroup: "cities",
            segments: [IndexDefinition.Segment(try FieldPath("state"))])
        let (first, second) = try store.write { transaction in
            (try transaction.defineIndex(population), try transaction.defineIndex(state))
        }
        for number in 0..<20 {
            try put(
                "\(number)",
                [
                    "population": .integer(Int64(number)),
                    "state": .string(number % 3 == 0 ? "CA" : "NY"),
                ])
        }
        let large = DocumentSource.index(
            first, from: .orderBytes(try EncodedValue(15).orderBytes()))
        let bound = ScanBound.orderBytes(try EncodedValue("CA").orderBytes())
        let found = try ids(.intersection([large, .index(second, from: bound, to: bound)]))
        #expect(found == ["15", "18"])
    }

    @Test("definitions with no fields, too many or two contains segments are refused")
    func badDefinitions() throws {
        let tags = IndexDefinition.Segment(try FieldPath("tags"), .contains)
        let many = try (0..<17).map { IndexDefinition.Segment(try FieldPath("f\($0)")) }
        for segments in [[], [tags, tags], many] {
            let error = #expect(throws: LarderError.self) {
                try store.write {
                    try $0.defineIndex(
                        IndexDefinition(collectionGroup: "cities", segments: segments))
                }
            }
            #expect(error?.kind == .invalidArgument)
        }
    }
}
