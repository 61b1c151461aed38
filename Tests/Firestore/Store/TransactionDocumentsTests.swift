import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Documents")
struct TransactionDocumentsTests {
    private let store: Store
    private let path: DocumentPath

    init() throws {
        store = try Store(.inMemory())
        path = try DocumentPath("cities/SF")
    }

    @Test("a found document has its fields, versions and times")
    func found() throws {
        let created = Timestamp(seconds: 3, nanoseconds: 1)
        try store.write { transaction in
            try transaction.put(
                Record(["n": 1]), at: path, version: .at(5), createTime: created,
                readTime: .at(7), hasCommittedMutations: true)
        }
        let document = try #require(try store.read { try $0.document(at: path) })
        #expect(document.path == path)
        #expect(document.state == .found && document.exists)
        #expect(document.fields == ["n": 1])
        #expect(document.version == .at(5))
        #expect(document.createTime == created)
        #expect(document.readTime == .at(7))
        #expect(document.hasCommittedMutations && document.hasPendingWrites)
        #expect(!document.hasLocalMutations && document.largestBatchID == 0)
        #expect(document.storedBytes > 0)
        #expect(try document.value(at: "n") == 1)
        #expect(try document.value(at: "m") == nil)
    }

    @Test("absent and unknown documents have a version and no fields")
    func absentAndUnknown() throws {
        try store.write { transaction in
            try transaction.putAbsent(at: path, version: .at(5), readTime: .at(6))
        }
        var document = try #require(try store.read { try $0.document(at: path) })
        #expect(document.state == .absent && document.record == nil && document.version == .at(5))
        #expect(document.readTime == .at(6) && !document.hasPendingWrites)
        try store.write { transaction in
            try transaction.putUnknown(at: path, version: .at(8))
        }
        document = try #require(try store.read { try $0.document(at: path) })
        #expect(document.state == .unknown && document.fields == MapValue())
        #expect(document.hasCommittedMutations)
        let statistics = try store.statistics()
        #expect(statistics.documentCount == 0 && statistics.absentCount == 1)
    }

    @Test("large fields come back whole, also when they are read in place")
    func coldFields() throws {
        let text = String(repeating: "The fog comes on little cat feet. ", count: 200)
        let fields: MapValue = ["text": .string(text), "n": 1, "map": ["long": .string(text)]]
        try store.write { transaction throws in
            for number in 0..<20 {
                try transaction.put(
                    Record(fields), at: DocumentPath("c/\(number)"), version: .at(1))
            }
        }
        let prepared = (
            text: PreparedField(try FieldPath("text")),
            inner: PreparedField(try FieldPath("map", "long"))
        )
        let wanted = try EncodedValue(.string(text))
        var count = 0
        try store.read { transaction in
            let source = DocumentSource.collection(try CollectionPath("c"))
            try transaction.documents(in: source) { entry throws in
                #expect(try entry.record.type(of: prepared.text) == .string)
                #expect(
                    try entry.record.compare(prepared.text, to: EncodedValue(1))
                        == .orderedDescending)
                #expect(try entry.record.isEqual(prepared.text, to: wanted))
                #expect(try entry.record.compare(prepared.inner, to: wanted) == .orderedSame)
                #expect(try entry.record.value(at: prepared.text) == .string(text))
                #expect(try entry.record.fields() == fields)
                #expect(try entry.document().fields == fields)
                count += 1
                return .continue
            }
        }
        #expect(count == 20)
        let statistics = try store.statistics()
        #expect(statistics.storedRecordBytes < statistics.rawRecordBytes)
    }

    @Test("a document read once is not changed by later writes")
    func documentsAreValues() throws {
        try store.write { try $0.put(Record(["n": 1]), at: path, version: .at(1)) }
        let document = try #require(try store.read { try $0.document(at: path) })
        try store.write { try $0.put(Record(["n": 2]), at: path, version: .at(2)) }
        #expect(document.fields == ["n": 1])
        #expect(try store.read { try $0.document(at: path) } != document)
    }

    @Test("random records come back from the store as they went in")
    func randomRecords() throws {
        var random = SeededRandom()
        var expected: [DocumentPath: MapValue] = [:]
        try store.write { transaction throws in
            for number in 0..<500 {
                let path = try DocumentPath("c/\(number)")
                let fields = random.map()
                try transaction.put(Record(fields), at: path, version: .at(1))
                expected[path] = fields
            }
        }
        try store.read { transaction throws in
            for (path, fields) in expected {
                let document = try transaction.document(at: path)
                #expect(document?.fields == fields, "\(random)")
            }
        }
    }

    @Test("names at Firestore's limits are stored and found")
    func longNames() throws {
        let long = String(repeating: "ü", count: 750)
        let paths = try [
            "c/" + long, "c/" + long.dropLast() + "y", "\(long)/\(long)/\(long)/\(long)",
            "c/__id42__", "c/a\u{0}b", "c/\u{1}",
        ].map { try DocumentPath($0) }
        try store.write { transaction in
            for path in paths { try transaction.put(Record(["n": 1]), at: path, version: .at(1)) }
        }
        try store.read { transaction in
            for path in paths { #expect(try transaction.document(at: path)?.path == path) }
            let source = DocumentSource.collection(try CollectionPath("c"))
            let found = try transaction.allDocuments(in: source).map(\.path)
            #expect(found == paths.filter { $0.parent.string == "c" }.sorted())
            #expect(try transaction.check().isClean)
        }
    }
}
