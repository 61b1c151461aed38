import LarderBackend
import LarderModel
import LarderTestSupport
import Testing

@Suite("Backend: what tests ask it")
struct BackendDocumentsTests {
    @Test("Documents and their number, by collection and in all")
    func counts() throws {
        let backend = try TestBackend()
        try backend.commit(.set("c/a", ["n": 1]), .set("c/b", ["n": 1]), .set("c/a/d/x", [:]))
        try backend.commit(.delete("c/b"))
        #expect(try backend.backend.documentCount() == 2)
        #expect(try backend.backend.documentCount(in: CollectionPath("c")) == 1)
        #expect(try backend.backend.documentCount(in: CollectionPath("e")) == 0)
        #expect(try backend.backend.document(at: DocumentPath("c/b")) == nil)
        #expect(try backend.backend.document(at: DocumentPath("c/a"))?.fields == ["n": 1])
    }

    @Test("Everything is deleted, however much there is")
    func deletion() throws {
        let backend = try TestBackend()
        try backend.commit((0..<1_500).map { try .set("c/d\($0)", ["n": 1]) })
        try backend.commit((0..<1_200).map { try .set("c/a/e/d\($0)", ["n": 1]) })
        try backend.answer { backend.backend.deleteAllDocuments($0) }
        #expect(try backend.backend.documentCount() == 0)
        try backend.commit(.set("c/d1", ["n": 1], .exists(false)))
    }

    @Test("By default a backend works on a queue of its own, and awaits")
    func queue() async throws {
        let directory = try TemporaryDirectory()
        let configuration = BackendConfiguration(
            project: "p", location: .directory(directory.path))
        let backend = try Backend(configuration)
        try await backend.deleteAllDocuments()
        #expect(throws: LarderError.self) { try Backend(configuration) }
        try await backend.close()
        let again = try Backend(configuration)
        #expect(try again.documentCount() == 0)
        try await again.close()
    }
}
