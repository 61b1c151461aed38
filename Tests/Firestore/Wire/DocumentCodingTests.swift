import Foundation
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Documents, names and masks in messages")
struct DocumentCodingTests {
    private let version = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 6000))

    @Test("Names of documents and parents, both ways")
    func names() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d/é/f")
        #expect(coder.encode(path) == "\(testRoot)/c/d/é/f")
        #expect(try coder.decode(documentName: "\(testRoot)/c/d/é/f") == path)
        #expect(coder.encode(parent: path) == "\(testRoot)/c/d/é/f")
        #expect(coder.encode(parent: nil) == testRoot)
        #expect(try coder.decode(parent: "\(testRoot)/c/d/é/f") == path)
        #expect(try coder.decode(parent: testRoot) == nil)
    }

    @Test(
        "What is no name of a document of the database is refused",
        arguments: [
            "", "c/d", "projects/p/databases/other/documents/c/d", testRoot, "\(testRoot)/",
            "\(testRoot)/c", "\(testRoot)/c/d/", "\(testRoot)//c/d", "\(testRoot)/c//d",
            "\(testRoot)/c/..", "\(testRoot)/__c__/d", "/\(testRoot)/c/d",
            "\(testRoot)/c/" + String(repeating: "d", count: 1501),
            "\(testRoot)/" + String(repeating: "c/d/", count: 100) + "c/d",
        ])
    func badNames(_ name: String) throws {
        let coder = try testCoder()
        expectError(.invalidArgument, "") { _ = try coder.decode(documentName: name) }
        guard name != testRoot else { return }
        expectError(.invalidArgument, "") { _ = try coder.decode(parent: name) }
    }

    @Test("The database of a request is known from any name in it")
    func databases() throws {
        for name in ["projects/p/databases/d", testRoot, "\(testRoot)/c/d"] {
            #expect(try DatabaseID(ofResource: name) == testDatabase)
        }
        let first = try DatabaseID(ofResource: "projects/a.b:c/databases/(default)/documents")
        #expect(first == DatabaseID(project: "a.b:c"))
        for name in [
            "", "projects", "projects/p", "projects/p/databases", "projects/p/databases/",
            "projects//databases/d", "project/p/databases/d", "projects/p/database/d",
            "projects/p/databases/d/", "projects/p/databases/d/document", "/projects/p/databases/d",
            "projects/p\n/databases/d",
            "projects/p/databases/" + String(repeating: "d", count: 257),
        ] {
            expectError(.invalidArgument, "does not begin") {
                _ = try DatabaseID(ofResource: name)
            }
        }
        let coder = try testCoder()
        try coder.check(database: "")
        try coder.check(database: "projects/p/databases/d")
        expectError(.invalidArgument, "instead of 'projects/p/databases/d'") {
            try coder.check(database: "projects/p/databases/e")
        }
    }

    @Test("Paths of fields are taken as Firestore writes them, and no other way")
    func fieldPaths() throws {
        let coder = try testCoder()
        for (text, segments) in [
            ("a", ["a"]), ("_a1.B", ["_a1", "B"]), ("`a.b`.c", ["a.b", "c"]),
            ("`1`", ["1"]), ("`\\``.`\\\\`", ["`", "\\"]), ("`é`", ["é"]),
            ("__name__", ["__name__"]),
        ] {
            #expect(try coder.decode(fieldPath: text).segments == segments)
        }
        for text in [
            "", ".", "a.", ".a", "a..b", "1a", "a-b", "é", "a b", "`a", "a`", "`a`b", "``",
            "a.``", "`a\\", "`a\\`", "a`b`", "\\a", String(repeating: "a", count: 1501),
        ] {
            expectError(.invalidArgument, "") { _ = try coder.decode(fieldPath: text) }
        }
        var random = SeededRandom()
        for _ in 0..<500 {
            let mask = FieldMask(
                try (0..<random.below(5)).map { _ in try random.nestedFieldPath() })
            #expect(try coder.decode(try sent(coder.encode(mask))) == mask, "\(random)")
        }
    }

    @Test("A mask gives the fields that it names, inside of maps, too")
    func projection() throws {
        let coder = try testCoder()
        let record = try Record([
            "a": 1, "m": .map(["x": 1, "y": .map(["z": 2]), "w": 3]), "n": .map([:]),
        ])
        func fields(_ paths: [String]) throws -> MapValue {
            let mask = FieldMask(try paths.map { try FieldPath(dotted: $0) })
            let message = try coder.encode(record, at: try DocumentPath("c/d"), mask: mask)
            return try coder.decode(message).record.fields
        }
        #expect(try fields([]) == [:])
        #expect(try fields(["__name__"]) == [:])
        #expect(try fields(["a", "missing", "a.b", "n.x", "missing.x"]) == ["a": 1])
        #expect(
            try fields(["m.y.z", "m.x", "n"])
                == ["m": .map(["x": 1, "y": .map(["z": 2])]), "n": .map([:])])
        #expect(try fields(["m.x", "m", "m.y.z"]) == ["m": record.fields["m"] ?? .null])
    }

    @Test("A mask selects the values of its paths, for any fields")
    func randomProjection() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        for _ in 0..<500 {
            let record = try Record(random.sendableFields())
            let mask = FieldMask(
                try (0..<random.below(6)).map { _ in try random.nestedFieldPath() })
            var expected = MapValue()
            for path in mask.paths {
                if let value = record[path] { expected.put(value.asSent, at: path) }
            }
            let fields = try coder.encode(record, mask: mask)
            #expect(try coder.decode(fields).fields == expected, "\(random)")
        }
    }

    @Test("Preconditions come back as they were")
    func preconditions() throws {
        let coder = try testCoder()
        #expect(coder.encode(Precondition.none) == nil)
        #expect(try coder.decode(Google_Firestore_V1_Precondition()) == .none)
        for precondition in [
            Precondition.exists(true), .exists(false), .updateTime(version),
            .updateTime(SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 1))),
        ] {
            let message = try #require(coder.encode(precondition))
            #expect(try coder.decode(try sent(message)) == precondition)
        }
        var late = Google_Firestore_V1_Precondition()
        late.updateTime.seconds = .max
        expectError(.invalidArgument, "out of the years") { _ = try coder.decode(late) }
    }

    @Test("Readings come back as they were")
    func readings() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d")
        let record = try Record(["a": 1])
        for reading in [
            DocumentReading(
                path: path, contents: .found(record, createTime: Timestamp.epoch), version: version),
            DocumentReading(
                path: path, contents: .found(record, createTime: nil), version: version),
            DocumentReading(path: path, contents: .absent, version: version),
        ] {
            #expect(try coder.decode(try sent(try coder.encode(reading))) == reading)
        }
        let later = SnapshotVersion(Timestamp(seconds: 9, nanoseconds: 0))
        let absent = DocumentReading(path: path, contents: .absent, version: .none)
        #expect(
            try coder.decode(try sent(try coder.encode(absent, readTime: later)))?.version == later)
        var opening = Google_Firestore_V1_BatchGetDocumentsResponse()
        opening.transaction = .init([1])
        #expect(try coder.decode(opening) == nil)
    }

    @Test("A malformed answer is the backend's fault")
    func badReadings() throws {
        let coder = try testCoder()
        var response = Google_Firestore_V1_BatchGetDocumentsResponse()
        response.found.name = "\(testRoot)/c/d"
        expectError(.internal, "no update time") { _ = try coder.decode(response) }
        response.found.updateTime = .init(version)
        #expect(try coder.decode(response)?.version == version)
        response.found.createTime.nanos = -1
        expectError(.internal, "out of the years") { _ = try coder.decode(response) }
        response.missing = "c/d"
        expectError(.internal, "not the name of a document") { _ = try coder.decode(response) }
    }

    @Test("A document of a store has its times, and one that does not exist no message")
    func documents() throws {
        let coder = try testCoder()
        func document(_ record: Record?) throws -> Document {
            Document(
                path: try DocumentPath("c/d"), state: record == nil ? .absent : .found,
                record: record, version: version, createTime: .epoch, readTime: version,
                hasLocalMutations: false, hasCommittedMutations: false, largestBatchID: 0,
                storedBytes: 0)
        }
        let message = try #require(try coder.encode(document(try Record(["a": 1, "b": 2]))))
        #expect(message.name == "\(testRoot)/c/d")
        #expect(try Timestamp(message.createTime) == .epoch)
        #expect(try SnapshotVersion(message.updateTime) == version)
        #expect(message.fields.map(\.key) == ["a", "b"])
        #expect(try coder.encode(document(nil)) == nil)
    }

    @Test("Requests for documents name them in order")
    func requests() throws {
        let coder = try testCoder()
        let paths = try ["c/b", "c/a", "c/b"].map { try DocumentPath($0) }
        var request = try sent(coder.encode(reading: paths))
        #expect(request.database == "projects/p/databases/d")
        #expect(try coder.decode(request) == paths)
        request.documents.append("c/d")
        expectError(.invalidArgument, "not the name") { _ = try coder.decode(request) }
        request.database = "projects/p/databases/e"
        expectError(.invalidArgument, "database") { _ = try coder.decode(request) }
    }

    @Test("Access modes of transactions survive encoding and decoding")
    func transactions() throws {
        let coder = try testCoder()
        for mode in [
            TransactionMode.readWrite(retrying: []), .readWrite(retrying: [1, 2]),
            .readOnly(at: .none), .readOnly(at: version),
        ] {
            #expect(try coder.decode(try sent(coder.encode(mode))) == mode)
        }
        #expect(
            try coder.decode(Google_Firestore_V1_TransactionOptions())
                == .readWrite(retrying: []))
    }
}
