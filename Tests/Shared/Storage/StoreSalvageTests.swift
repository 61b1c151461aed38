import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("A damaged store")
struct StoreSalvageTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
    }

    /// A store with a document, whose meta pages are blanked and whose log is deleted afterwards.
    private func makeDamagedStore(_ name: String) throws -> String {
        let path = root.file(name)
        let store = try Store(directory: path)
        try store.write { transaction in
            try transaction.put(
                Record(["text": .string("kept")]), at: DocumentPath("c/1"), version: .at(1))
        }
        try store.close()
        let file = URL(fileURLWithPath: path + "/data.mdb")
        var data = try Data(contentsOf: file)
        data.resetBytes(in: 0..<8192)
        try data.write(to: file)
        try FileManager.default.removeItem(atPath: path + "/data.wal")
        return path
    }

    @Test("is salvaged into a new one and stays as it is")
    func salvage() throws {
        let path = try makeDamagedStore("store")
        let before = try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb"))
        var done: Int64 = 0
        let report = try Store.salvage(directory: path, into: root.file("new")) { progress in
            done = progress.done
            return .continue
        }
        #expect(report.documents.found == 1 && report.documents.guessed == 1)
        #expect(!report.isComplete && done > 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")) == before)
        let store = try Store(directory: root.file("new"))
        #expect(try store.read { try $0.document(at: DocumentPath("c/1"))?.exists } == true)
        #expect(store.opening.state == .clean && store.quarantines.isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("has damaged pages; a whole one has none")
    func pages() throws {
        let path = try makeDamagedStore("store")
        var problems: [PageProblem] = []
        let report = try Store.checkPages(
            directory: path,
            onProblem: { problem in
                problems.append(problem)
                return .continue
            })
        #expect(report.problemCount == Int64(problems.count) && report.problemCount > 0)
        #expect(problems.contains { $0.page == 0 } && problems.contains { $0.page == 1 })
        _ = try Store.salvage(directory: path, into: root.file("new"))
        #expect(try Store.checkPages(directory: root.file("new")).problemCount == 0)
        #expect(throws: LarderError.self) { try Store.checkPages(directory: root.file("none")) }
    }

    @Test("is set aside when it is opened, unless the configuration says otherwise")
    func quarantine() throws {
        let path = try makeDamagedStore("store")
        var configuration = StoreConfiguration(directory: path)
        for recovery in [StoreConfiguration.Recovery.fail, .readOnly] {
            configuration.recovery = recovery
            let error = #expect(throws: LarderError.self) { try Store(configuration) }
            #expect(error?.kind == .dataLoss)
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb"))
        configuration.recovery = .quarantine
        let store = try Store(configuration)
        #expect(store.opening.state == .quarantined)
        #expect(store.opening.salvage?.documents.found == 1)
        #expect(try store.read { try $0.document(at: DocumentPath("c/1"))?.exists } == true)
        let aside = try #require(store.opening.quarantine)
        #expect(store.quarantines == [aside])
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside + "/data.mdb")) == before)
        try store.close()
        let again = try Store(configuration)
        #expect(again.opening.state == .clean && again.opening.quarantine == nil)
        #expect(again.quarantines == [aside])
    }
}
