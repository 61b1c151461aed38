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

    @Test(
        "Empty paths of files are refused",
        arguments: [["--import", ""], ["--export-on-exit", ""]])
    func emptyPaths(arguments: [String]) {
        let error = #expect(throws: (any Error).self) {
            try LarderDaemon.parse(["--memory"] + arguments)
        }
        #expect(
            error.map { LarderDaemon.message(for: $0).hasPrefix("\(arguments[0]) requires") }
                == true)
    }

    @Test("Both options name the files of both kinds of databases")
    func helpOfFiles() {
        let help = LarderDaemon.helpMessage(columns: 1_000)
        for option in ["--import", "--export-on-exit"] {
            // The description may be on the line after the option.
            let text = help.split(separator: "\n  \(option) <").last?.prefix(250)
            #expect(text?.contains("NAMESPACE.json") == true)
            #expect(text?.contains("PROJECT/DATABASE.ndjson") == true)
        }
    }
}
