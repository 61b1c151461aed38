import Dispatch
import LarderCore
import LarderSharedTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import LarderHTTP

@Suite("Bodies in files", .timeLimit(.minutes(10)))
struct BodyWriterTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.any()
    private let pauses = Awaited<[Bool]>([])
    private let results = Awaited<[Result<BodyFile, LarderError>]>([])

    /// Receives parts with a writer on the loop.
    private func receive(_ parts: [[UInt8]], in files: BodyFiles, finishes: Bool) async throws {
        try await loop.submit { [loop, pauses, results] in
            guard let file = files.begin() else { return }
            let writer = BodyWriter(file, of: files, on: loop) { paused in
                pauses.change { $0.append(paused) }
            } wrote: { _ in
            }
            for part in parts { writer.receive(ByteBuffer(bytes: part)) }
            guard finishes else { return writer.close() }
            writer.finish { result in results.change { $0.append(result) } }
        }.get()
    }

    @Test("the client is stopped while the disk is behind, and goes on after that")
    func backPressure() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let disk = DispatchSemaphore(value: 0)
        let files = BodyFiles(maxBytes: 1 << 20, maxCount: 1) { () throws(LarderError) in
            disk.wait()
            return path
        }
        let parts = (0..<9).map { [UInt8](repeating: UInt8($0), count: 40_000) }
        try await receive(parts, in: files, finishes: true)
        await pauses.wait { $0 == [true] }
        #expect(files.openCount == 1 && files.begin() == nil && results.value.isEmpty)
        disk.signal()
        await results.wait { !$0.isEmpty }
        #expect(pauses.value == [true, false])
        let file = try #require(try results.value.first?.get().open())
        #expect(try file.withText { Array($0.bytes) } == parts.flatMap(\.self))
    }

    @Test("a disk that cannot be written fails the body, which keeps nothing")
    func failure() async throws {
        let directory = try TemporaryDirectory()
        let none = directory.file("none")
        let files = BodyFiles(maxBytes: 1 << 20, maxCount: 1) { () throws(LarderError) in none }
        let part = [UInt8](repeating: 1, count: 500_000)
        try await receive([part, part], in: files, finishes: true)
        await results.wait { !$0.isEmpty }
        #expect(throws: LarderError.self) { try results.value.first?.get() }
        #expect(pauses.value.last == false)
    }

    @Test("the place of a body is free after its last use")
    func places() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let files = BodyFiles(maxBytes: 1 << 20, maxCount: 2) { () throws(LarderError) in path }
        var first = files.begin()
        let second = files.begin()
        #expect(first != nil && second != nil && files.begin() == nil)
        first = nil
        #expect(files.openCount == 1 && files.begin() != nil)
        withExtendedLifetime(second) {}
    }
}
