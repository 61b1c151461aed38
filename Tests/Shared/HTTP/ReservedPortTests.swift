import Foundation
import LarderSharedTestSupport
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// What the tests of servers rest upon.
@Suite("Ports of tests", .timeLimit(.minutes(10)))
struct ReservedPortTests {
    private let port: ReservedPort

    init() throws {
        port = try ReservedPort()
    }

    private func listen() async throws -> any Channel {
        waitForSpawns()
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: port.number).get()
    }

    @Test("A program that runs does not hold the port where a server listened when it was started")
    func runningProgram() async throws {
        let first = try await listen()
        let program = try spawn("/bin/sleep", ["600"]) { _ in }
        defer {
            kill(program, SIGKILL)
            _ = waitForEnd(of: program)
        }
        try await first.close()
        try await listen().close()
    }

    @Test("Programs that are being started do not hold it either")
    func startingPrograms() async throws {
        let ended = Mutex(0)
        let isDone = Mutex(false)
        let starter = Thread {
            for _ in 0..<200 {
                guard let program = try? spawn("/bin/true", [], { _ in }) else { continue }
                ended.withLock { $0 += waitForEnd(of: program) == 0 ? 1 : 0 }
            }
            isDone.withLock { $0 = true }
        }
        starter.start()
        while !isDone.withLock({ $0 }) { try await listen().close() }
        #expect(ended.withLock { $0 } == 200)
    }
}
