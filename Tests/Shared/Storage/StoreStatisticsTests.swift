import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Statistics")
struct StoreStatisticsTests {
    @Test("the total is the sum of the categories and goes back when documents go")
    func totals() throws {
        let store = try Store(.inMemory())
        let before = try store.statistics()
        try store.write { transaction throws in
            for number in 0..<50 {
                try transaction.put(
                    Record(["n": .integer(Int64(number))]), at: DocumentPath("c/\(number)"),
                    version: .at(1))
            }
        }
        let full = try store.statistics()
        let categories = [
            full.documents, full.overlays, full.mutations, full.indexes, full.targets, full.nodes,
            full.catalog,
        ]
        #expect(full.totalBytes == categories.reduce(0) { $0 + $1.sizeBytes })
        #expect(full.documentCount == 50 && full.collectionCount == 1)
        #expect(full.totalBytes > before.totalBytes)
        #expect(full.budgetBytes == nil && full.formatVersion == 3)
        try store.write { transaction in
            for number in 0..<50 { try transaction.remove(DocumentPath("c/\(number)")) }
        }
        let empty = try store.statistics()
        #expect(empty.documentCount == 0)
        #expect(empty.documents.sizeBytes < full.documents.sizeBytes)
    }
}
