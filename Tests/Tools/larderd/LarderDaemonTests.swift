import ArgumentParser
import LarderCore
import Testing

@testable import LarderDaemon

@Suite("larderd")
struct LarderDaemonTests {
    @Test("--version is the version of the C library")
    func version() {
        let error = #expect(throws: (any Error).self) { try LarderDaemon.parse(["--version"]) }
        #expect(error.map { LarderDaemon.fullMessage(for: $0) } == LarderVersion.text)
    }
}
