import LarderModel
import LarderQuery
import Testing

@Suite("Queries as data")
struct QueryTests {
    @Test("A limit counts from either end")
    func limitCounts() {
        #expect(Query.Limit.first(3).count == 3)
        #expect(Query.Limit.last(4).count == 4)
    }
}
