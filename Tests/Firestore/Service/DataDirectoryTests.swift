import Foundation
import LarderModel
import LarderTestSupport
import Logging
import Testing

@testable import LarderServer

@Suite("Server: the directory of its databases")
struct DataDirectoryTests {
    private let parent: TemporaryDirectory

    init() throws {
        parent = try TemporaryDirectory()
    }

    /// Why a directory cannot be used; nil where it can.
    private func refusal(_ path: String) -> LarderError? {
        do throws(LarderError) {
            _ = try DataDirectory(path)
            return nil
        } catch {
            return error
        }
    }

    @Test("It is made with those above it, for its owner alone, and nothing is left in it")
    func makes() throws {
        let path = parent.file("a/b/c")
        #expect(refusal(path) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(refusal(path) == nil, "what is there is used again")
    }

    @Test("One server has it at a time, and another once that has ended")
    func locks() throws {
        let path = parent.file("data")
        let first = try DataDirectory(path)
        let error = try #require(refusal(path))
        #expect(error.kind == .unavailable)
        #expect(error.message.contains("'\(path)'"))
        #expect(error.message.contains("another larderd is using it"))
        _ = consume first
        #expect(refusal(path) == nil)
    }

    @Test("What is no directory, or cannot be made, is refused with the reason")
    func unusable() throws {
        let file = parent.file("file")
        try Data().write(to: URL(fileURLWithPath: file))
        for (path, reason) in [
            (file, "it is not a directory"), (file + "/data", "Not a directory"),
            ("/proc/nothing/data", "No such file or directory"), ("/proc/self", "it cannot be"),
        ] {
            let error = try #require(refusal(path), "\(path)")
            #expect(error.kind == .unavailable && error.message.contains("'\(path)'"))
            #expect(error.message.contains(reason), "\(error.message)")
        }
    }

    @Test("A server does not run on a directory that another has, and leaves it alone")
    func server() async throws {
        let path = parent.file("data")
        func server() throws -> Server {
            try Server(
                ServerConfiguration(port: 0, storage: .directory(path)),
                logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        let first = try server()
        let running = Task { try await first.run() }
        #expect(await first.port != nil)
        let second = try server()
        let isRefused = await asyncCode { try await second.run() }
        #expect(isRefused == .unavailable)
        #expect(await second.port == nil)
        running.cancel()
        try await running.value
        let third = try server()
        let again = Task { try await third.run() }
        #expect(await third.port != nil)
        again.cancel()
        try await again.value
    }
}
