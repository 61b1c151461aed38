import Foundation
import LarderCore
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderHTTP

@Suite("Files of exports")
struct ExportFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func content(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: directory.file(name))))
    }

    @Test("A file has what was appended, and replaces the earlier one once it is complete")
    func replaces() throws {
        let written = Mutex(0)
        let target = ExportTarget(directory.path) { count in written.withLock { $0 += count } }
        let part = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        for count in [0, 1, 400] {
            let earlier = try? content("a/b")
            written.withLock { $0 = 0 }
            let file = try ExportFile("a/b", in: target)
            for number in 0..<count {
                try file.append { $0 += part }
                #expect(written.withLock { $0 } == part.count * (number + 1))
            }
            #expect((try? content("a/b")) == earlier)
            try file.finish()
            #expect(try content("a/b").count == part.count * count)
        }
        #expect(try content("a/b").suffix(part.count).elementsEqual(part))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file("a")) == ["b"])
    }

    @Test("A file that is discarded leaves the earlier one")
    func discards() throws {
        let target = ExportTarget(directory.path)
        let first = try ExportFile("a", in: target)
        try first.append { $0.append(1) }
        try first.finish()
        let second = try ExportFile("a", in: target)
        try second.append { $0.append(2) }
        second.discard()
        #expect(try content("a") == [1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["a"])
        #expect(throws: LarderError.self) { try ExportFile("a/b", in: target) }
    }
}
