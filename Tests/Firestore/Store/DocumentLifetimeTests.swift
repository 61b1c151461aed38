import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

/// Documents are copied as they are stored, and decompressed when a field is asked for.
@Suite("Documents after their transaction")
struct DocumentLifetimeTests {
    private let directory: TemporaryDirectory
    private let path: DocumentPath
    private let large: String
    private let fields: MapValue

    init() throws {
        directory = try TemporaryDirectory()
        path = try DocumentPath("cities/SF")
        large = (0..<200).map { "part \($0 * 7919 % 1009) of a text" }.joined(separator: ", ")
        fields = [
            "area": 121.4, "name": "San Francisco", "notes": .string(large),
            "stats": ["people": 800_000, "story": .string(large)],
        ]
    }

    private func storedDocument() throws -> (Store, Document) {
        let store = try Store(directory: directory.file("s"))
        try store.write { transaction in
            try transaction.put(Record(fields), at: path, version: .at(1))
        }
        let document = try #require(try store.read { try $0.document(at: path) })
        return (store, document)
    }

    @Test("a document stays readable, cold fields too, after the store was closed")
    func afterClosing() throws {
        let (store, document) = try storedDocument()
        try store.close()
        #expect(document[try FieldPath("area")] == 121.4)
        #expect(document[try FieldPath("notes")] == .string(large))
        #expect(document[try FieldPath("stats", "people")] == 800_000)
        #expect(document[try FieldPath("stats", "nothing")] == nil)
        #expect(document.fields == fields)
        #expect(document.record?.sizeBytes == (try Record(fields)).sizeBytes)
    }

    @Test("closing frees the lock although documents are alive")
    func closingFreesTheLock() throws {
        let (store, document) = try storedDocument()
        try store.close()
        let again = try Store(directory: directory.file("s"))
        let other = try #require(try again.read { try $0.document(at: path) })
        #expect(other == document)
        #expect(document.record?.bytes == other.record?.bytes)
    }

    @Test("a record from a store equals, and encodes as, the record that was written")
    func sameAsWritten() throws {
        let (_, document) = try storedDocument()
        let written = try Record(fields)
        let record = try #require(document.record)
        #expect(record == written && written == record)
        #expect(record.bytes == written.bytes && record.byteCount == written.byteCount)
        #expect(record.count == 4)
        #expect(try Record(validating: record.bytes) == record)
        let mask = FieldMask([try FieldPath("notes")])
        #expect(try record != record.patched(with: Record(["notes": "other"]), mask: mask))
    }

    @Test("a record from one store can be written to another")
    func writtenElsewhere() throws {
        let (store, document) = try storedDocument()
        let other = try Store(directory: directory.file("other"))
        let record = try #require(document.record)
        let user = UserID("ada")
        try store.close()
        try other.write { transaction in
            try transaction.put(record, at: path, version: .at(2))
            try transaction.putOverlay(record, at: path, of: user, largestBatchID: 1)
        }
        let (plain, overlay) = try other.read { transaction in
            (
                try transaction.document(at: path),
                try transaction.document(at: path, asSeenBy: user)
            )
        }
        #expect(plain?.fields == fields)
        #expect(overlay?.fields == fields && overlay?.hasLocalMutations == true)
    }

    @Test("patching a record from a store sees its cold fields")
    func patching() throws {
        let (_, document) = try storedDocument()
        let record = try #require(document.record)
        let mask = FieldMask([try FieldPath("stats", "people")])
        let source = try Record(["stats": ["people": 1]])
        let patched = try record.patched(with: source, mask: mask)
        #expect(patched[try FieldPath("stats", "people")] == 1)
        #expect(patched[try FieldPath("stats", "story")] == .string(large))
        #expect(patched[try FieldPath("notes")] == .string(large))
    }

    @Test("a document read in a write that fails stays as it was read")
    func readInAFailedWrite() throws {
        let store = try Store(.inMemory())
        var kept: Document?
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try store.write { transaction in
                try transaction.put(Record(fields), at: path, version: .at(1))
                kept = try transaction.document(at: path)
                throw Stop()
            }
        }
        // Its field names were this transaction's first; now others get their number.
        try store.write { transaction in
            try transaction.put(
                Record(["b": 1, "c": 2, "d": 3, "e": 4]), at: path, version: .at(1))
        }
        #expect(kept?.fields == fields)
    }

    @Test("threads that ask for a cold field at once all get it")
    func manyThreads() throws {
        let (store, document) = try storedDocument()
        try store.close()
        let notes = try FieldPath("notes")
        let results = Results()
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            results.set(number, document[notes] == .string(large) && document.fields == fields)
        }
        #expect(results.all == Array(repeating: true, count: 8))
    }

    @Test("a damaged cold part is an error of the read, and of no other document")
    func damagedColdPart() throws {
        let (store, _) = try storedDocument()
        let other = try DocumentPath("cities/LA")
        try store.write { try $0.put(Record(fields), at: other, version: .at(1)) }
        try store.close()
        try damageColdPart()
        let again = try Store(directory: directory.file("s"))
        var outcomes: [Bool] = []
        for path in [path, other] {
            do {
                let document = try #require(try again.read { try $0.document(at: path) })
                outcomes.append(document.fields == fields)
            } catch let error as LarderError {
                #expect(error.kind == .dataLoss)
                outcomes.append(false)
            }
        }
        #expect(outcomes.filter { $0 }.count == 1)
    }

    /// Changes one byte in the middle of one of the two rows' compressed parts.
    private func damageColdPart() throws {
        let file = URL(fileURLWithPath: directory.file("s") + "/data.mdb")
        var data = try Data(contentsOf: file)
        let name = try #require(data.range(of: Data("San Francisco".utf8), options: .backwards))
        data[name.upperBound + 100] ^= 1
        try data.write(to: file)
    }
}

private final class Results: @unchecked Sendable {
    // Under the lock.
    private let lock = NSLock()
    private var values: [Int: Bool] = [:]

    func set(_ number: Int, _ value: Bool) {
        lock.withLock { values[number] = value }
    }

    var all: [Bool] { lock.withLock { values.sorted { $0.key < $1.key }.map(\.value) } }
}
