import LarderModel
import LarderQuery
import Testing

@Suite("Change sets")
struct DocumentViewChangesTests {
    typealias Kind = DocumentViewChange.Kind

    private let comparator = DocumentComparator(orders: [Order(.documentID)])

    private func merged(_ first: Kind, _ second: Kind) throws -> [DocumentViewChange] {
        var set = DocumentChangeSet()
        set.add(DocumentViewChange(first, try .test("a", ["v": "old"])))
        set.add(DocumentViewChange(second, try .test("a", ["v": "new"])))
        return Array(set.sorted(by: comparator))
    }

    @Test(
        "two changes of one document become one",
        arguments: [
            (Kind.added, Kind.modified, Kind.added, "new"),
            (.added, .metadata, .added, "new"),
            (.modified, .modified, .modified, "new"),
            (.modified, .removed, .removed, "old"),
            (.modified, .metadata, .modified, "new"),
            (.metadata, .modified, .modified, "new"),
            (.metadata, .removed, .removed, "new"),
            (.metadata, .metadata, .metadata, "new"),
            (.removed, .added, .modified, "new"),
        ])
    func merging(first: Kind, second: Kind, result: Kind, version: String) throws {
        let expected = DocumentViewChange(result, try .test("a", ["v": .string(version)]))
        #expect(try merged(first, second) == [expected])
    }

    @Test("an addition followed by a removal is no change")
    func dropping() throws {
        #expect(try merged(.added, .removed).isEmpty)
    }

    @Test("removals come first, then additions, then the rest, each in the query's order")
    func order() throws {
        var set = DocumentChangeSet()
        set.add(DocumentViewChange(.metadata, try .test("e")))
        set.add(DocumentViewChange(.modified, try .test("f")))
        set.add(DocumentViewChange(.modified, try .test("a")))
        set.add(DocumentViewChange(.added, try .test("d")))
        set.add(DocumentViewChange(.added, try .test("b")))
        set.add(DocumentViewChange(.removed, try .test("g")))
        set.add(DocumentViewChange(.removed, try .test("c")))
        let changes = set.sorted(by: comparator)
        #expect(changes.map(\.document.id) == ["c", "g", "b", "d", "a", "e", "f"])
        #expect(changes.withoutMetadata.map(\.document.id) == ["c", "g", "b", "d", "a", "f"])
    }
}

@Suite("Changes with indices")
struct ResultsIndexedChangesTests {
    private let comparator = DocumentComparator(orders: [Order(.documentID)])

    private func indices(_ changes: [IndexedDocumentChange]) -> [[Int?]] {
        changes.map { [$0.oldIndex, $0.newIndex] }
    }

    @Test("the first snapshot adds all documents from index 0 on")
    func first() throws {
        let documents = try DocumentSet(
            ["a", "b", "c"].map { try .test($0) }, comparator: comparator)
        let changes = DocumentViewChanges(adding: documents)
            .indexed(from: DocumentSet(comparator: comparator))
        #expect(changes.map(\.kind) == [.added, .added, .added])
        #expect(indices(changes) == [[nil, 0], [nil, 1], [nil, 2]])
    }

    @Test("Changes are the same one by one, by their place and by their paths")
    func iteration() throws {
        let documents = try DocumentSet(
            ["a", "b", "c"].map { try .test($0) }, comparator: comparator)
        var set = DocumentChangeSet()
        set.add(DocumentViewChange(.modified, try .test("b")))
        set.add(DocumentViewChange(.removed, try .test("a")))
        for changes in [
            DocumentViewChanges(adding: documents), set.sorted(by: comparator), .none,
        ] {
            var visited: [String] = []
            changes.forEachPath { kind, path in visited.append("\(kind) \(path)") }
            #expect(visited == changes.map { "\($0.kind) \($0.document.path)" })
            #expect(Array(changes) == changes.indices.map { changes[$0] })
        }
    }

    @Test("an index counts in the list that the changes before have left")
    func tracking() throws {
        let orders = [Order(try FieldPath("n")), Order(.documentID)]
        let comparator = DocumentComparator(orders: orders)
        let old = try DocumentSet(
            [("a", 1), ("b", 2), ("c", 3)].map { try .test($0.0, ["n": .integer($0.1)]) },
            comparator: comparator)
        var set = DocumentChangeSet()
        set.add(DocumentViewChange(.removed, try .test("a", ["n": 1])))
        set.add(DocumentViewChange(.added, try .test("d", ["n": 0])))
        set.add(DocumentViewChange(.modified, try .test("b", ["n": 9])))
        set.add(DocumentViewChange(.metadata, try .test("c", ["n": 3], isPending: true)))
        let changes = set.sorted(by: comparator).indexed(from: old)
        #expect(changes.map(\.document.id) == ["a", "d", "c", "b"])
        #expect(changes.map(\.kind) == [.removed, .added, .modified, .modified])
        #expect(indices(changes) == [[0, nil], [nil, 0], [2, 2], [1, 2]])
    }
}
