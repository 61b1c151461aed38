import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Targets")
struct TargetTests {
    private let store: Store

    init() throws {
        store = try Store(.inMemory())
    }

    @Test("a target is stored unchanged, and replaced by another with its ID")
    func putting() throws {
        var target = Target(
            id: 2, query: [1, 2], canonicalID: "cities|f:", resumeToken: [3],
            snapshotVersion: .at(4), limboFreeVersion: .at(5), sequenceNumber: 6, flags: 7)
        try store.write { try $0.put(target) }
        #expect(try store.read { try $0.target(2) } == target)
        target.resumeToken = [8, 9]
        try store.write { try $0.put(target) }
        #expect(try store.read { try $0.targets() } == [target])
        #expect(try store.read { try $0.target(3) } == nil)
    }

    @Test("targets are found by canonical id, and the highest id is remembered")
    func finding() throws {
        try store.write { transaction throws in
            for (id, text) in [(2, "a"), (4, "b"), (6, "a")] as [(Int32, String)] {
                try transaction.put(Target(id: id, query: [], canonicalID: text))
            }
            #expect(try transaction.targetIDs(withCanonicalID: "a") == [2, 6])
            #expect(try transaction.targetIDs(withCanonicalID: "c") == [])
            #expect(try transaction.nextTarget(after: 2)?.id == 4)
            #expect(try transaction.removeTarget(6))
            #expect(try !transaction.removeTarget(6))
            #expect(try transaction.highestTargetID() == 6)
        }
    }

    @Test("documents belong to targets, and stay when a target goes")
    func documents() throws {
        let (a, b) = (try DocumentPath("c/a"), try DocumentPath("c/b"))
        try store.write { transaction in
            try transaction.put(Record(["n": 1]), at: a, version: .at(1))
            try transaction.put(Target(id: 2, query: [], canonicalID: "x"))
            for path in [a, b, a] { try transaction.add(path, toTarget: 2) }
            #expect(try transaction.documentCount(ofTarget: 2) == 2)
            #expect(try transaction.targetIDs(holding: a) == [2])
            let found = try transaction.allDocuments(in: .target(2))
            #expect(found.map(\.path) == [a])
            let all = try transaction.allDocuments(
                in: .target(2), options: ScanOptions(includesAllStates: true))
            #expect(all.map(\.path) == [a, b])
            #expect(all.map(\.state) == [.found, .notRead])
            #expect(try transaction.remove(b, fromTarget: 2))
            #expect(try !transaction.remove(b, fromTarget: 2))
            try transaction.removeTarget(2)
            #expect(try transaction.targetIDs(holding: a) == [])
            #expect(try transaction.document(at: a)?.exists == true)
        }
    }

    @Test("ids below 1 and targets that are not there are refused")
    func refusals() throws {
        try store.write { transaction throws in
            #expect(throws: LarderError.self) {
                try transaction.put(Target(id: 0, query: [], canonicalID: ""))
            }
            let error = #expect(throws: LarderError.self) {
                try transaction.add(DocumentPath("c/a"), toTarget: 9)
            }
            #expect(error?.kind == .notFound)
        }
    }
}
