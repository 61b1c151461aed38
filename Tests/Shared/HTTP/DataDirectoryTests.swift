import Foundation
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Data directory")
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

    /// Another descriptor of a file that this process has open; nil if it has not.
    private func duplicate(_ path: String) -> CInt? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let name = names.first {
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\($0)")
            return link == path
        }
        return name.flatMap { CInt($0) }.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
    }

    @Test("it is created with its parents, for its owner only, and left empty")
    func makes() throws {
        let path = parent.file("a/b/c")
        #expect(refusal(path) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(refusal(path) == nil, "an existing directory is used")
    }

    @Test("one server uses it at a time, the next one after that has ended")
    func locks() throws {
        let path = parent.file("data")
        let first = try DataDirectory(path)
        let error = try #require(refusal(path))
        #expect(error.kind == .unavailable)
        #expect(error.message.contains("'\(path)'"))
        #expect(error.message.contains("another larderd is using it"))
        // As a program has one that is just being started.
        let inherited = try #require(duplicate(path))
        defer { close(inherited) }
        _ = consume first
        #expect(refusal(path) == nil)
    }

    @Test("anything but a directory, or one that cannot be created, is refused with the reason")
    func unusable() throws {
        let file = parent.file("file")
        try Data().write(to: URL(fileURLWithPath: file))
        for (path, reason) in [
            (file, "it is not a directory"), (file + "/data", "Not a directory"),
            ("/proc/nothing/data", "No such file or directory"),
            ("/proc/self", "it is not writable"),
        ] {
            let error = try #require(refusal(path), "\(path)")
            #expect(error.kind == .unavailable && error.message.contains("'\(path)'"))
            #expect(error.message.contains(reason), "\(error.message)")
        }
    }
}
