import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Named values")
struct NamedValueTests {
    @Test("each kind has its own names, in byte order")
    func kinds() throws {
        let store = try Store(.inMemory())
        try store.write { transaction in
            try transaction.putNamedValue(.global, "token", [1, 2])
            try transaction.putNamedValue(.query, "b", [3], version: .at(5))
            try transaction.putNamedValue(.query, "a", [4])
            try transaction.putNamedValue(.query, "b", [5], version: .at(6))
        }
        try store.write { transaction in
            #expect(try transaction.namedValue(.global, "token")?.payload == [1, 2])
            #expect(try transaction.namedValue(.bundle, "token") == nil)
            let queries = try transaction.namedValues(.query)
            #expect(queries.map(\.name) == ["a", "b"])
            #expect(queries.map(\.payload) == [[4], [5]])
            #expect(queries.map(\.version) == [.none, .at(6)])
            #expect(try transaction.removeNamedValue(.query, "a"))
            #expect(try !transaction.removeNamedValue(.query, "a"))
            #expect(throws: LarderError.self) { try transaction.putNamedValue(.global, "", []) }
        }
    }
}
