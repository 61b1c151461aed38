import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

/// A store on disk in which one byte of one document was changed behind its back.
@Suite("Damaged rows")
struct DamageTests {
    private let directory: TemporaryDirectory
    private let store: Store
    private let messages: Messages
    private let source: DocumentSource
    private let damaged: DocumentPath

    private final class Messages: Sendable {
        let texts = Mutex<[String]>([])
    }

    init() throws {
        directory = try TemporaryDirectory()
        source = .collection(try CollectionPath("c"))
        damaged = try DocumentPath("c/5")
        let path = directory.file("s")
        let first = try Store(directory: path)
        try first.write { transaction in
            for number in 0..<10 {
                try transaction.put(
                    Record(["text": .string("MARK\(number)")]), at: DocumentPath("c/\(number)"),
                    version: .at(1))
            }
        }
        try first.close()
        let file = URL(fileURLWithPath: path + "/data.mdb")
        var data = try Data(contentsOf: file)
        while let range = data.range(of: Data("MARK5".utf8)) {
            data[range.lowerBound] = UInt8(ascii: "m")
        }
        try data.write(to: file)
        let messages = Messages()
        var configuration = StoreConfiguration(directory: path)
        configuration.log = { level, text in
            if level == .error { messages.texts.withLock { $0.append(text) } }
        }
        self.messages = messages
        store = try Store(configuration)
    }

    @Test("reading the document fails with its location, and is logged")
    func reading() throws {
        let error = #expect(throws: LarderError.self) {
            try store.read { try $0.document(at: damaged) }
        }
        #expect(error?.kind == .dataLoss)
        #expect(error?.condition == .corrupt)
        #expect(messages.texts.withLock { $0.count } > 0)
        #expect(try store.read { try $0.document(at: DocumentPath("c/4"))?.exists } == true)
    }

    @Test("a scan ends with the error, or skips the row if requested")
    func scanning() throws {
        let error = #expect(throws: LarderError.self) {
            try store.read { try $0.allDocuments(in: source) }
        }
        #expect(error?.kind == .dataLoss)
        let others = try store.read { transaction in
            try transaction.allDocuments(in: source, options: ScanOptions(skipsDamaged: true))
        }
        #expect(others.map(\.id) == ["0", "1", "2", "3", "4", "6", "7", "8", "9"])
    }

    @Test("a check reports the row and goes on")
    func checking() throws {
        var problems: [CheckProblem] = []
        let report = try store.check(onProblem: { problem in
            problems.append(problem)
            return .continue
        })
        #expect(!report.isClean && report.problemCount == Int64(problems.count))
        #expect(problems.contains { $0.table == "documents" && !$0.key.isEmpty })
        #expect(report.documentCount >= 9)
    }

    @Test("the document can be written again, and the store is sound then")
    func replacing() throws {
        try store.write { try $0.put(Record(["n": 1]), at: damaged, version: .at(2)) }
        #expect(try store.read { try $0.document(at: damaged)?.fields } == ["n": 1])
        #expect(try store.check().isClean)
    }

    @Test("the document can be removed, and the store is sound then")
    func removing() throws {
        let wasThere = try store.write { try $0.remove(damaged) }
        #expect(wasThere)
        #expect(try store.read { try $0.document(at: damaged) } == nil)
        let report = try store.check()
        #expect(report.isClean && report.documentCount == 9)
    }
}
