import Foundation
import LarderNetworkTestSupport
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Writes that arrive late", .timeLimit(.minutes(10)))
struct LateWriteTests {
    private let directory: TemporaryDirectory
    private let server: SocketServer
    private let proxy: Proxy
    /// The directory of the client's store.
    private let store: String

    init() async throws {
        directory = try TemporaryDirectory()
        server = try SocketServer(directory: directory.file("server"))
        try await server.start()
        proxy = try await Proxy.started(port: server.port)
        store = directory.file("client")
    }

    /// Does not wait for the answer.
    private func increment(_ database: Database) {
        database.reference(withPath: "sum").setValue(ServerValue.increment(1))
    }

    @Test("a write of an ended process that arrives after it was sent again is not made twice")
    func endedProcess() async throws {
        let first = try SocketClient.opened(port: proxy.port, store)
        try await first.reference(withPath: "a").setValue(1)
        await proxy.hold(.toServer)
        increment(first)
        try await first.close()

        let second = try SocketClient.opened(port: server.port, store, isWitness: true)
        try await second.reference(withPath: "b").setValue(1)
        // Says that the increment was answered.
        try await second.reference(withPath: "c").setValue(1)
        await proxy.release()
        await proxy.connections.wait { $0 == 0 }
        let sum = try await second.reference(withPath: "sum").getData()
        #expect(sum.value as? Int == 1)
        try await second.close()
        await proxy.close()
        try await server.stop()
    }

    @Test("a write of the last process that shared the store is not made twice")
    func sharedStore() async throws {
        let first = try SocketClient.opened(port: proxy.port, store, access: .shared)
        try await first.reference(withPath: "a").setValue(1)
        let text = String(repeating: "a", count: 100_000)
        await proxy.strand(after: text.utf8.count)
        await proxy.refuse()
        first.reference().enqueueUpdateChildValues(["sum": ServerValue.increment(1), "text": text])
        await proxy.strandedCount.wait { $0 == 1 }
        try await first.close()

        let second = try SocketClient.opened(
            port: server.port, store, access: .shared, isWitness: true)
        let witness = try SocketClient.opened(port: server.port, isWitness: true)
        let sum = witness.reference(withPath: "sum")
        while try await !sum.getData().exists() {}
        // Says that the increment was answered.
        for number in 0..<3 { try await second.reference(withPath: "b").setValue(number) }
        await proxy.deliver()
        await proxy.connections.wait { $0 == 0 }
        #expect(try await sum.getData().value as? Int == 1)
        for database in [second, witness] { try await database.close() }
        await proxy.close()
        try await server.stop()
    }
}
