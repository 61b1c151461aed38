import Foundation
import LarderNetworkTestSupport
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Writes that arrive late")
struct LateWriteTests {
    /// Does not wait for the answer.
    private func increment(_ database: Database) {
        database.reference(withPath: "sum").setValue(ServerValue.increment(1))
    }

    @Test("a write of an ended process that arrives after it was sent again is not made twice")
    func endedProcess() async throws {
        let directory = try TemporaryDirectory()
        let server = try SocketServer(directory: directory.file("server"))
        try await server.start()
        let proxy = try await Proxy.started(port: server.port)
        let store = directory.file("client")
        let first = try SocketClient.opened(port: proxy.port, store)
        try await first.reference(withPath: "a").setValue(1)
        await proxy.hold(.toServer)
        increment(first)
        try await first.close()

        let second = try SocketClient.opened(port: server.port, store)
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
}
