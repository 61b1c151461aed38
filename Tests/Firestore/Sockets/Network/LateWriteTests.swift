import Foundation
import Larder
import LarderGRPC
import LarderNetworkTestSupport
import LarderTestSupport
import Testing

@Suite("Writes that arrive late", .timeLimit(.minutes(10)))
struct LateWriteTests {
    private let directory: TemporaryDirectory
    private let server: WireServer
    private let proxy: Proxy

    init() async throws {
        directory = try TemporaryDirectory()
        server = try await WireServer.started()
        proxy = try await Proxy.started(port: server.port)
    }

    /// A client of the test's store.
    private func open() throws -> (Firestore, CloudFirestore) {
        let cloud = try server.connection(port: proxy.port, project: WireWorld.project)
        var configuration = FirestoreConfiguration(directory: directory.file("store"))
        configuration.project = WireWorld.project
        configuration.backend = cloud.connection
        // However slow the machine is.
        configuration.serverWait = .atMost(.seconds(300))
        return (try Firestore(configuration: configuration), cloud)
    }

    @Test("are not committed again after they were sent again", arguments: [false, true])
    func stranded(endsProcess: Bool) async throws {
        var (db, cloud) = try open()
        try await db.document("c/a").setData(["n": 0])
        let text = String(repeating: "a", count: 100_000)
        await proxy.strand(after: text.utf8.count)
        db.document("c/sum").enqueueSetData(
            ["n": FieldValue.increment(Int64(1)), "text": text], merge: true)
        await proxy.strandedCount.wait { $0 == 1 }
        if endsProcess {
            try await db.terminate()
            await cloud.close()
            (db, cloud) = try open()
        }
        try await db.waitForPendingWrites()
        // They tell that the answer is stored: the server forgets the write.
        for number in 1...3 { try await db.document("c/a").setData(["n": number]) }
        let answers = proxy.lateAnswerCount.value
        await proxy.deliver()
        await proxy.lateAnswerCount.wait { $0 > answers }
        let sum = try await db.document("c/sum").getDocument(source: .server)
        #expect(sum.data()?["n"] as? Int == 1)
        try await db.terminate()
        await cloud.close()
        await proxy.close()
        try await server.stop()
    }
}
