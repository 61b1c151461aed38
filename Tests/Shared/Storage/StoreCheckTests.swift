import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Checks")
struct StoreCheckTests {
    @Test("a check of a sound store counts its rows and finds nothing")
    func soundStore() throws {
        let store = try Store(.inMemory())
        try store.write { transaction in
            for number in 0..<20 {
                try transaction.put(
                    Record(["n": .integer(Int64(number))]), at: DocumentPath("c/\(number)"),
                    version: .at(1))
            }
            _ = try transaction.defineIndex(
                IndexDefinition(
                    collectionGroup: "d", segments: [IndexDefinition.Segment(FieldPath("n"))]))
            try transaction.put(Record(["n": 1]), at: DocumentPath("d/1"), version: .at(1))
        }
        let report = try store.check(onProblem: { problem in
            Issue.record("\(problem)")
            return .continue
        })
        #expect(report.isClean && report.problemCount == 0)
        #expect(report.documentCount == 21 && report.indexEntryCount == 1)
        #expect(report.rowCount > 21)
    }

    @Test("progress may stop a check")
    func stopping() throws {
        let store = try Store(.inMemory())
        try store.write { transaction throws in
            for number in 0..<5000 {
                try transaction.put(
                    Record(["n": 1]), at: DocumentPath("c/\(number)"), version: .at(1))
            }
        }
        let error = #expect(throws: LarderError.self) {
            try store.check(progress: { _ in .stop })
        }
        #expect(error?.kind == .cancelled)
    }
}
