import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

private struct Refusal: Error, Equatable {}

@Suite("Transactions")
struct StoreTransactionsTests {
    private let store: Store
    private let path: DocumentPath

    init() throws {
        store = try Store(.inMemory())
        path = try DocumentPath("cities/SF")
    }

    private func put(_ number: Int64) throws {
        try store.write { transaction in
            try transaction.put(Record(["n": .integer(number)]), at: path, version: .at(number))
        }
    }

    private func number() throws -> Value? {
        try store.read { transaction in
            try transaction.document(at: path)?[FieldPath("n")]
        }
    }

    @Test("a write that throws changes nothing")
    func abortOnThrow() throws {
        try put(1)
        #expect(throws: Refusal()) {
            try store.write { transaction in
                try transaction.put(Record(["n": 2]), at: path, version: .at(2))
                throw Refusal()
            }
        }
        #expect(try number() == 1)
        let error = #expect(throws: LarderError.self) {
            try store.write { transaction throws(LarderError) in
                try transaction.remove(path)
                throw LarderError(.aborted, "enough")
            }
        }
        #expect(error?.message == "enough")
        #expect(try number() == 1)
    }

    @Test("a read's own error comes out as it is")
    func readThrows() throws {
        #expect(throws: Refusal()) { try store.read { _ in throw Refusal() } }
    }

    @Test("a write transaction reads its own changes")
    func ownWrites() throws {
        try store.write { transaction in
            #expect(try transaction.document(at: path) == nil)
            try transaction.put(Record(["n": 1]), at: path, version: .at(1))
            #expect(try transaction.document(at: path)?.fields == ["n": 1])
            #expect(try transaction.remove(path))
            #expect(try transaction.document(at: path) == nil)
            #expect(try !transaction.remove(path))
        }
    }

    @Test("a read sees one commit, regardless of concurrent writes")
    func snapshotIsolation() throws {
        try put(1)
        try store.read { transaction in
            let before = transaction.commitNumber
            try put(2)
            #expect(try transaction.document(at: path)?.fields == ["n": 1])
            #expect(transaction.commitNumber == before)
            #expect(try number() == 2)
        }
    }

    @Test("commit numbers rise with each commit that changed something")
    func commitNumbers() throws {
        try put(1)
        let first = try store.read { $0.commitNumber }
        try put(2)
        #expect(try store.read { $0.commitNumber } == first + 1)
        try store.write { _ in }
        #expect(try store.read { $0.commitNumber } == first + 1)
    }

    @Test("a write inside a write of the same store is refused, not waited for")
    func nestedWrite() throws {
        try store.write { transaction in
            let error = #expect(throws: LarderError.self) { try store.write { _ in } }
            #expect(error?.condition == .busy)
            try transaction.put(Record(["n": 1]), at: path, version: .at(1))
        }
        #expect(try number() == 1)
    }

    @Test("a failed call leaves the transaction usable")
    func failedCallInside() throws {
        let deep = try Record(["a": (0..<30).reduce([] as Value) { value, _ in [value] }])
        try store.write { transaction in
            let error = #expect(throws: LarderError.self) {
                try transaction.put(deep, at: path, version: .at(1))
            }
            #expect(error?.condition == .tooDeep)
            try transaction.put(Record(["n": 1]), at: path, version: .at(1))
        }
        #expect(try number() == 1)
    }

    @Test("two readers and a writer go on at once, and each read is of one commit")
    func concurrentReadersAndWriter() throws {
        let paths = try (0..<8).map { try DocumentPath("c/\($0)") }
        let writes = 300
        let failures = Mutex<[String]>([])
        let done = Mutex(false)
        let store = store
        @Sendable func attempt(_ body: () throws -> Void) {
            do { try body() } catch { failures.withLock { $0.append("\(error)") } }
        }
        // Each commit gives all documents one number: a read that sees two saw two commits.
        let writer = Thread {
            attempt {
                for number in 1...Int64(writes) {
                    try store.write { transaction in
                        let record = try Record(["n": .integer(number)])
                        for path in paths {
                            try transaction.put(record, at: path, version: .at(number))
                        }
                    }
                }
            }
            done.withLock { $0 = true }
        }
        let finished = DispatchSemaphore(value: 0)
        let readers = (0..<2).map { _ in
            Thread {
                attempt {
                    let source = DocumentSource.collection(try CollectionPath("c"))
                    var last: Int64 = 0
                    var isLast = false
                    while !isLast {
                        isLast = done.withLock { $0 }
                        let versions = try store.read { transaction in
                            try transaction.allDocuments(in: source).map {
                                $0.version.timestamp.seconds
                            }
                        }
                        guard Set(versions).count <= 1, versions.first ?? 0 >= last else {
                            failures.withLock { $0.append("one read saw \(versions)") }
                            break
                        }
                        last = versions.first ?? 0
                    }
                    if last != Int64(writes) {
                        failures.withLock { $0.append("the last read saw \(last)") }
                    }
                }
                finished.signal()
            }
        }
        writer.start()
        readers.forEach { $0.start() }
        readers.forEach { _ in finished.wait() }
        #expect(failures.withLock { $0 } == [])
    }
}
