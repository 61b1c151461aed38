import LarderBackend
import LarderModel
import LarderTestSupport
import Testing

@Suite("Backend: imports")
struct BackendFilesTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func backend() throws -> Backend {
        try Backend(BackendConfiguration(project: "p", location: .directory(directory.path)))
    }

    private func writes(_ numbers: Range<Int>) throws -> [Mutation] {
        try numbers.map {
            Mutation(.set(try Record(["n": .integer(Int64($0))])), at: try DocumentPath("c/d\($0)"))
        }
    }

    @Test("Documents of an import that has not ended are deleted by the next opening")
    func cutOff() async throws {
        let first = try backend()
        try first.beginImport()
        for start in [0, 1_000] { try first.commitImported(try writes(start..<start + 1_000)) }
        #expect(try first.documentCount() == 2_000)
        try await first.close()

        let second = try backend()
        #expect(try second.documentCount() == 0)
        try second.beginImport()
        try second.commitImported(try writes(0..<3))
        try second.endImport()
        try second.discardImport()
        try await second.close()

        let third = try backend()
        var documents: [String] = []
        try third.forEachDocument { path, fields in
            documents.append("\(path) \(fields["n"] == .integer(1))")
        }
        #expect(documents == ["c/d0 false", "c/d1 true", "c/d2 false"])
        try await third.close()
    }

    @Test("An import that is discarded leaves nothing, and its paths can be written")
    func discarded() async throws {
        let first = try backend()
        try first.beginImport()
        try first.commitImported(try writes(0..<3))
        try first.discardImport()
        #expect(try first.documentCount() == 0)
        try first.commitImported(
            [
                Mutation(
                    .set(try Record([:])), at: try DocumentPath("c/d1"),
                    precondition: .exists(false))
            ])
        try await first.close()
        let second = try backend()
        #expect(try second.documentCount() == 1)
        try await second.close()
    }
}
