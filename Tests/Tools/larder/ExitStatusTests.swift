import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderTool

@Suite struct ExitStatusTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `help and version go to standard output and succeed`() throws {
        let version = try Tool.run(["--version"], in: folder)
        #expect(version.status == 0)
        let header = PackageDirectory.path("CSources/larder/include/larder.h")
        let text = try String(contentsOf: header, encoding: .utf8)
        let numbers = ["MAJOR", "MINOR", "PATCH"].compactMap { part in
            text.split(separator: "\n").first { $0.hasPrefix("#define LARDER_VERSION_\(part) ") }?
                .split(separator: " ").last
        }
        #expect(version.output == numbers.joined(separator: ".") + "\n")
        let help = try Tool.run(["--help"], in: folder)
        #expect(help.status == 0)
        for status in ExitStatus.allCases {
            #expect(help.output.contains("  \(status.rawValue)  \(status.meaning)"))
        }
        for name in [
            "import", "export", "ls", "get", "stat", "evict", "train", "check", "copy", "compact",
            "query", "count", "sum", "avg", "min", "max", "set", "update", "delete", "pending",
            "index", "watch", "rtdb",
        ] {
            #expect(help.output.contains("\n  \(name) "))
            let result = try Tool.run(["help", name], in: folder)
            #expect(result.status == 0)
            #expect(result.output.contains("larder \(name)"))
            #expect(result.output.contains("EXAMPLES"), "help of \(name) has examples")
        }
        #expect(try Tool.run([], in: folder).status == 0)
    }

    @Test(arguments: [
        ["nonsense"], ["ls", "--nonsense"], ["get"], ["import"], ["evict"], ["evict", "much"],
        ["ls", "--limit", "0"], ["ls", "--start", "x"], ["ls", "a//b"], ["get", "cities"],
        ["get", "cities/."], ["import", "-", "--collection", "a/b"], ["import", "-", "--id", "id"],
        ["import", "-", "-c", "a", "--keep-id"], ["import", "-", "-c", "a", "--batch", "0"],
        ["import", "-", "-c", "a", "--budget", "1KiB"], ["import", "-", "--index", "a"],
        ["import", "-", "-c", "a", "--index", "a..b"], ["import", "-", "--format", "xml"],
        ["export", "--recursive"], ["export", "--id", "id"], ["export", "a/b"],
        ["check", "--max-problems", "-1"], ["train", "--dictionary-size", "1"], ["copy"],
        ["copy", ""], ["ls", "--store", ""],
    ])
    func `a wrong command line is 64`(arguments: [String]) throws {
        let result = try Tool.run(arguments, in: folder)
        expectError(result, 64, ": error: ")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/larder-store"))
    }

    @Test(arguments: [("qurey", "query"), ("updat", "update"), ("gett", "get")])
    func `a command that is mistyped is named`(word: String, command: String) throws {
        let result = try Tool.run([word, "cities", "--store", "s"], in: folder)
        expectError(result, 64, "Unknown command '\(word)'. Did you mean '\(command)'?")
    }

    @Test func `a command like no other is unknown`() throws {
        let result = try Tool.run(["nonsense", "cities"], in: folder)
        expectError(result, 64, "Unknown command 'nonsense'.")
        #expect(!result.messages.contains("Did you mean"))
    }

    @Test func `the manual's table is the tool's`() throws {
        let page = PackageDirectory.path("Documentation/CommandLine.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for status in ExitStatus.allCases {
            #expect(text.contains("| \(status.rawValue) | \(status.meaning) |\n"))
        }
    }

    @Test func `every condition of the storage core has its status`() {
        let expected: [(LarderError.Condition, Int32)] = [
            (.noStore, 66), (.locked, 75), (.busy, 75),
            (.foreignFile, 65), (.corrupt, 65), (.noDictionary, 65),
            (.newerFormat, 78), (.networkFileSystem, 78),
            (.permission, 77), (.exists, 73), (.noSpace, 74),
            (.io, 74), (.writesRefused, 74), (.noMemory, 71),
            (.readersFull, 71), (.invalidName, 64), (.tooLarge, 65),
            (.notFound, 1), (.none, 70), (.wrongThread, 70),
        ]
        for (condition, status) in expected {
            let error = ToolError(
                LarderError(.unknown, "something", condition: condition), about: "a place")
            #expect(error.status.rawValue == status, "\(condition)")
            #expect(error.description.hasPrefix("a place: something"))
            #expect(!error.description.contains("\n"))
        }
        let stopped = LarderError(.cancelled, "stopped", condition: .stopped)
        #expect(ToolError(stopped, about: "").status == .interrupted)
    }

    @Test func `a store or input that is not there is 66 and says how to make one`() throws {
        for arguments in [
            ["ls"], ["get", "a/b"], ["stat"], ["evict", "1MiB"], ["train"], ["check"], ["export"],
            ["copy", "x"], ["compact", "x"],
        ] {
            let result = try Tool.run(arguments, in: folder)
            expectError(result, 66, "there is no store at 'larder-store'; 'larder import")
        }
        let input = try Tool.run("import", "nothing.ndjson", "-c", "a", in: folder)
        expectError(input, 66, "cannot read 'nothing.ndjson': No such file")
        #expect(!FileManager.default.fileExists(atPath: folder.store), "no store is made for it")
        expectError(
            try Tool.run("import", folder.path, "-c", "a", in: folder), 66, "Is a directory")
    }

    @Test func `a file that is not a store exits with 65`() throws {
        try FileManager.default.createDirectory(
            atPath: folder.store, withIntermediateDirectories: true)
        try folder.file("store/data.mdb", String(repeating: "not a store ", count: 2000))
        let result = try Tool.run("stat", in: folder)
        expectError(result, 65, "cannot open the store")
        #expect(try Tool.run("import", "-", "-c", "a", in: folder).status == 65)
        let file = try folder.file("plain", "text")
        let plain = try Tool.run(["import", "-", "-c", "a", "--store", file], in: folder)
        expectError(plain, 65, "name a directory that holds a store, or a new one")
    }

    @Test func `a store or file that cannot be made is 73`() throws {
        if FileManager.default.fileExists(atPath: "/proc/self") {
            let result = try Tool.run(["import", "-", "-c", "a", "--store", "/proc/x"], in: folder)
            expectError(result, 73, "cannot create the store '/proc/x'")
        }
        try Tool.makeStore(in: folder)
        expectError(
            try Tool.run("export", "-o", "no/such/folder/out", in: folder), 73, "cannot create")
    }

    @Test func `a full disk is 74`() throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        try Tool.makeStore(in: folder)
        let result = try Tool.shell("\"$larder\" export >/dev/full", in: folder)
        expectError(result, 74, "cannot write to standard output: No space left")
    }

    @Test func `a reader that goes away ends the tool without a word`() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<3000))
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        let result = try Tool.shell("\"$larder\" export | head -n 1", in: folder)
        #expect(result.messages == "")
        #expect(result.output.hasPrefix("{\"$name\":\"c/d0\""))
    }

    @Test func `readers work beside a writer, a second writer is 75`() throws {
        try Tool.makeStore(in: folder)
        let writer = try RunningTool(
            ["import", "-", "-c", "c", "--id", "id", "--store", folder.store], in: folder)
        // More than a pipe holds: the writer has the store open once this returns.
        writer.write(generatedLines(0..<2000))

        for arguments in [
            ["ls"], ["get", "cities/SF"], ["stat"], ["check"], ["export"],
            ["copy", folder.path + "/copied"], ["compact", folder.path + "/compacted"],
        ] {
            let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
            #expect(result.status == 0, "\(arguments): \(result)")
        }
        for arguments in [["evict", "1MiB"], ["train"], ["import", "-", "-c", "a"]] {
            let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
            expectError(result, 75, "stop the other process")
        }

        let result = try writer.finish()
        #expect(result.status == 0, "\(result)")
        let stat = try Tool.run("stat", "--json", in: folder).json()
        #expect(stat["documentCount"] as? Int == 2005)
    }

    @Test func `the environment and options before the command name the store`() throws {
        try Tool.makeStore(in: folder)
        let named = try Tool.run(["ls"], in: folder, environment: ["LARDER_STORE": folder.store])
        #expect(named.status == 0, "\(named)")
        let option = try Tool.run(
            ["ls", "--store", "nowhere"], in: folder,
            environment: ["LARDER_STORE": folder.store])
        #expect(option.status == 66)
        let before = try Tool.run(["--store", folder.store, "--json", "ls"], in: folder)
        #expect(try before.json()["collections"] is [Any])
    }

    @Test func `the store is made in the default place by an import`() throws {
        let result = try Tool.run(
            ["import", "-", "-c", "c"], in: folder, input: "{\"a\":1}\n")
        #expect(result.status == 0, "\(result)")
        #expect(FileManager.default.fileExists(atPath: folder.path + "/larder-store/data.mdb"))
        #expect(try Tool.run(["ls", "c"], in: folder).lines.count == 2)
    }
}
