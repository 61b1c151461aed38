import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Opening and closing stores")
struct StoreTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func condition(of body: () throws -> Void) -> LarderError.Condition? {
        #expect(throws: LarderError.self, performing: body)?.condition
    }

    @Test("written data exists after closing and reopening")
    func reopening() throws {
        let path = try DocumentPath("cities/SF")
        try Store(directory: directory.file("s")).write { transaction in
            try transaction.put(Record(["n": 1]), at: path, version: .at(5))
        }
        let store = try Store(directory: directory.file("s"))
        let document = try store.read { transaction in try transaction.document(at: path) }
        #expect(document?.fields == ["n": 1])
        #expect(store.directory == directory.file("s"))
    }

    @Test("opening says what it found")
    func opening() throws {
        let store = try Store(directory: directory.file("s"))
        #expect(store.opening.state == .created)
        try store.write { try $0.putNamedValue(.global, "a", []) }
        // What the end of the process leaves.
        let copy = directory.file("copy")
        try FileManager.default.copyItem(atPath: directory.file("s"), toPath: copy)
        try store.close()
        #expect(try Store(directory: directory.file("s")).opening.state == .clean)
        for name in ["lock.mdb", "owner.lock"] {
            try FileManager.default.removeItem(atPath: copy + "/" + name)
        }
        var configuration = StoreConfiguration(directory: copy)
        configuration.access = .readOnly
        let snapshot = try Store(configuration)
        #expect(snapshot.opening.isSnapshot)
        #expect(try snapshot.read { try $0.namedValue(.global, "a") } != nil)
        try snapshot.close()
        let recovered = try Store(directory: copy)
        #expect(recovered.opening.state == .recovered)
        #expect(recovered.opening.recoveredCommitCount == 1)
        #expect(recovered.opening.lostCommitCount == 0)
        #expect(!recovered.opening.isSnapshot)
        #expect(try recovered.read { try $0.namedValue(.global, "a") } != nil)
        try recovered.close()
    }

    @Test("a second opening in one process is refused")
    func openTwice() throws {
        let store = try Store(directory: directory.file("s"))
        #expect(condition { _ = try Store(directory: directory.file("s")) } == .alreadyOpen)
        try store.close()
        try Store(directory: directory.file("s")).close()
    }

    @Test("errors are caught as NSError, in the domain of the database that opens the store")
    func caughtAsNSError() throws {
        let store = try Store(directory: directory.file("s"))
        var configuration = StoreConfiguration(directory: directory.file("s"))
        for domain in [LarderError.sharedDomain, LarderError.firestoreDomain] {
            configuration.errorDomain = domain
            do {
                _ = try Store(configuration)
                Issue.record("a second opening succeeded")
            } catch let error as NSError {
                #expect(error.domain == domain)
                #expect(error.code == LarderError.Code.failedPrecondition.rawValue)
            }
        }
        #expect(LarderError.sharedDomain == "LarderErrorDomain")
        try store.close()
    }

    @Test("errors inside transactions and of a closed store have the store's domain")
    func domainOfTransactions() throws {
        var configuration = StoreConfiguration.inMemory()
        configuration.errorDomain = "TestDomain"
        let store = try Store(configuration)
        let inside = #expect(throws: LarderError.self) {
            try store.write { try $0.putNamedValue(.global, "", []) }
        }
        #expect(inside?.domain == "TestDomain")
        try store.close()
        let closed = #expect(throws: LarderError.self) { try store.sync() }
        #expect(closed?.domain == "TestDomain")
    }

    @Test("a file that is not a store is refused and not changed")
    func foreignFile() throws {
        let path = directory.file("s")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: path + "/data.mdb")
        let text = Data("not a store\n".utf8)
        try text.write(to: file)
        #expect(condition { _ = try Store(directory: path) } == .foreignFile)
        #expect(try Data(contentsOf: file) == text)
    }

    @Test("without creating, a missing store is not found")
    func missingStore() throws {
        var configuration = StoreConfiguration(directory: directory.file("none"))
        configuration.createsStore = false
        let error = #expect(throws: LarderError.self) { try Store(configuration) }
        #expect(error?.condition == .noStore)
        #expect(error?.kind == .notFound)
        #expect(!FileManager.default.fileExists(atPath: directory.file("none")))
    }

    @Test("a store open for reading only reads and does not write")
    func readOnly() throws {
        let path = try DocumentPath("cities/SF")
        try Store(directory: directory.file("s")).write { transaction in
            try transaction.put(Record(["n": 1]), at: path, version: .at(5))
        }
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.access = .readOnly
        let store = try Store(configuration)
        #expect(try store.read { try $0.document(at: path)?.exists } == true)
        #expect(condition { try store.write { _ in } } == .readOnly)
        #expect(condition { _ = try store.evict() } == .readOnly)
    }

    @Test("a closed store refuses calls, and closing again does nothing")
    func closedStore() throws {
        let store = try Store(.inMemory())
        try store.close()
        try store.close()
        let error = #expect(throws: LarderError.self) { try store.read { _ in } }
        #expect(error?.kind == .failedPrecondition)
        #expect(throws: LarderError.self) { try store.write { _ in } }
        #expect(throws: LarderError.self) { try store.statistics() }
        #expect(throws: LarderError.self) { try store.sync() }
    }

    @Test("a store does not close while a transaction is open")
    func closingInsideATransaction() throws {
        let store = try Store(.inMemory())
        try store.read { _ in
            #expect(condition { try store.close() } == .busy)
        }
        try store.close()
    }

    @Test("configurations out of range are refused")
    func badConfigurations() throws {
        var configuration = StoreConfiguration.inMemory()
        configuration.budget = .bytes(1000)
        #expect(condition { _ = try Store(configuration) } == .invalidArgument)
        configuration = .inMemory()
        configuration.maxReaders = 0
        #expect(condition { _ = try Store(configuration) } == .invalidArgument)
        configuration = .inMemory()
        configuration.maxDepth = -1
        #expect(condition { _ = try Store(configuration) } == .invalidArgument)
        configuration = .inMemory()
        configuration.coldFieldBytes = -1
        #expect(condition { _ = try Store(configuration) } == .invalidArgument)
    }

    @Test("a store in memory leaves no files and has no directory")
    func inMemory() throws {
        let store = try Store(.inMemory())
        #expect(store.directory == nil)
        try store.write { transaction in
            try transaction.put(
                Record(["n": 1]), at: DocumentPath("a/b"), version: .at(1))
        }
        #expect(try store.statistics().documentCount == 1)
        try store.close()
        let other = try Store(.inMemory())
        #expect(try other.statistics().documentCount == 0)
    }

    @Test("the last reference closes the store")
    func lastReference() throws {
        var store: Store? = try Store(directory: directory.file("s"))
        #expect(try store?.statistics().documentCount == 0)
        store = nil
        try Store(directory: directory.file("s")).close()
    }
}

@Suite("Removing a store")
struct StoreRemovalTests {
    @Test("A closed store goes with its files; a directory with other files stays")
    func removes() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        let store = try Store(directory: path)
        try store.close()
        try Store.remove(directory: path)
        #expect(!FileManager.default.fileExists(atPath: path))
        try Store.remove(directory: path)

        _ = try Store(directory: path)
        try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/note"))
        try Store.remove(directory: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["note"])
    }

    @Test("A store that is open is not removed")
    func refusesOpenStore() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        let store = try Store(directory: path)
        let error = #expect(throws: LarderError.self) { try Store.remove(directory: path) }
        #expect(error?.condition == .alreadyOpen)
        try store.close()
    }

    @Test("A damaged store is removed, a foreign file is not")
    func removesDamage() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        try Store(directory: path).close()
        let file = path + "/data.mdb"
        let size = try #require(
            try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
        try Data(repeating: 0x55, count: size).write(to: URL(fileURLWithPath: file))
        let outcome = Result { try Store.remove(directory: path) }
        let isThere = FileManager.default.fileExists(atPath: file)
        switch outcome {
        case .success: #expect(!isThere)
        case .failure(let error):
            #expect((error as? LarderError)?.condition == .foreignFile && isThere)
        }
    }
}
