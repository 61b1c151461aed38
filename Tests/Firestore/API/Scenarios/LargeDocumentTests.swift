import Larder
import LarderBackend
import Testing

@Suite("Documents above 1 MiB")
struct LargeDocumentTests {
    private static func open(_ backend: Backend, maxDocumentBytes: Int? = nil) throws -> Firestore {
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "large"
        configuration.backend = backend.connection
        if let maxDocumentBytes { configuration.maxDocumentBytes = maxDocumentBytes }
        return try Firestore(configuration: configuration)
    }

    @Test(
        "They are written and read where the limit allows, and elsewhere cost only their listeners")
    func largeDocuments() async throws {
        var configuration = BackendConfiguration(project: "large")
        configuration.maxDocumentBytes = 16 << 20
        let backend = try Backend(configuration)
        let writer = try Self.open(backend, maxDocumentBytes: 16 << 20)
        let reader = try Self.open(backend)

        var small = reader.collection("small").snapshots.makeAsyncIterator()
        #expect(try await small.next()?.count == 0)

        let text = String(repeating: "x", count: 5 << 20)
        try await writer.document("large/a").setData(["text": text])
        let back = try await writer.document("large/a").getDocument(source: .server)
        #expect(back.get("text") as? String == text)

        for _ in 0..<2 {
            let error = await #expect(throws: LarderError.self) {
                _ = try await reader.collection("large").getDocuments(source: .server)
            }
            #expect(error?.kind == .resourceExhausted)
            #expect(error?.message.contains("'large/a' cannot be received") == true)
        }

        try await writer.document("small/b").setData(["text": "y"])
        #expect(try await small.next()?.documents.first?.documentID == "b")

        try await reader.terminate()
        try await writer.terminate()
        try await backend.close()
    }

    @Test("A write above the limit is refused with its size")
    func tooLarge() async throws {
        var configuration = FirestoreConfiguration.inMemory
        configuration.maxDocumentBytes = 2_000
        let database = try Firestore(configuration: configuration)
        let text = String(repeating: "x", count: 2_000)
        let error = await #expect(throws: LarderError.self) {
            try await database.document("c/d").setData(["text": text])
        }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains("2000 are allowed") == true)
        try await database.terminate()
    }

    @Test("A limit out of range is refused", arguments: [1_023, (16 << 20) + 1])
    func limits(bytes: Int) throws {
        var configuration = FirestoreConfiguration.inMemory
        configuration.maxDocumentBytes = bytes
        let error = #expect(throws: LarderError.self) {
            _ = try Firestore(configuration: configuration)
        }
        #expect(error?.kind == .invalidArgument)
    }
}
