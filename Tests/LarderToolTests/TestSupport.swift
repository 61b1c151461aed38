import Foundation
import LarderModel
import Testing

@testable import LarderTool

/// A directory that is removed with the object.
final class TemporaryFolder {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("larder-tool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in it, with the content where one is given.
    @discardableResult
    func file(_ name: String, _ content: String? = nil) throws -> String {
        try file(name, bytes: content.map { Array($0.utf8) })
    }

    @discardableResult
    func file(_ name: String, bytes: [UInt8]?) throws -> String {
        let file = path + "/" + name
        if let bytes { try Data(bytes).write(to: URL(fileURLWithPath: file)) }
        return file
    }

    func content(_ name: String) throws -> String {
        String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
    }

    /// The path of the store that the tests use.
    var store: String { path + "/store" }
}

/// What a run of the tool printed and how it ended.
struct ToolResult: CustomStringConvertible {
    var status: Int32
    var output: String
    var messages: String

    var lines: [String] {
        output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    }

    /// Standard output as one JSON object.
    func json() throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(output.utf8))
        return try #require(value as? [String: Any], "\(self)")
    }

    var description: String {
        "exit \(status)\n--- output\n\(output)--- messages\n\(messages)"
    }
}

/// The built executable, run as a process.
enum Tool {
    /// Beside the test bundle, where SwiftPM puts both.
    static let executable: String = {
        if let named = ProcessInfo.processInfo.environment["LARDER_TOOL"] { return named }
        var folders = CommandLine.arguments.filter { $0.contains(".xctest") }
        folders += [
            CommandLine.arguments[0], Bundle.main.bundlePath, Bundle.main.executablePath ?? "",
        ]
        for folder in folders {
            var url = URL(fileURLWithPath: folder).resolvingSymlinksInPath()
            while url.path.count > 1 {
                url.deleteLastPathComponent()
                let candidate = url.appendingPathComponent("larder").path
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder),
                    !isFolder.boolValue
                {
                    return candidate
                }
            }
        }
        return "larder"
    }()

    /// Runs the tool to its end, with the input on standard input.
    static func run(
        _ arguments: [String], in folder: TemporaryFolder, input: String = "",
        environment: [String: String] = [:]
    ) throws -> ToolResult {
        let running = try RunningTool(arguments, in: folder, environment: environment)
        // A tool that does not read its input must not stop the test.
        if !input.isEmpty { running.write(input) }
        return try running.finish()
    }

    /// Runs the tool on the folder's store.
    static func run(
        _ arguments: String..., in folder: TemporaryFolder, input: String = ""
    ) throws -> ToolResult {
        try run(arguments + ["--store", folder.store], in: folder, input: input)
    }

    /// A store with a few documents, also in collections below documents.
    static func makeStore(in folder: TemporaryFolder) throws {
        let file = try folder.file(
            "made.ndjson",
            """
            {"$name":"cities/SF","name":"San Francisco","population":860000,"tags":["bay","hills"]}
            {"$name":"cities/LA","name":"Los Angeles","population":3900000}
            {"$name":"cities/SF/landmarks/bridge","name":"Golden Gate","length":2737.5}
            {"$name":"cities/SF/landmarks/bridge/visits/1","count":7}
            {"$name":"people/ada","born":{"$timestamp":"1815-12-10T00:00:00Z"}}

            """)
        let result = try run("import", file, in: folder)
        #expect(result.status == 0, "\(result)")
    }
}

/// The tool while it runs.
final class RunningTool {
    private let process = Process()
    private let input = Pipe()
    private let outputPath: String
    private let messagesPath: String

    init(
        _ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:]
    ) throws {
        let name = UUID().uuidString
        outputPath = try folder.file("\(name).out", "")
        messagesPath = try folder.file("\(name).err", "")
        process.executableURL = URL(fileURLWithPath: Tool.executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        var variables = ProcessInfo.processInfo.environment
        variables["LARDER_STORE"] = nil
        process.environment = variables.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: messagesPath))
        // Writing to a tool that has ended is an error to ignore, not a signal.
        signal(SIGPIPE, SIG_IGN)
        try process.run()
        try input.fileHandleForReading.close()
    }

    /// Writes to its standard input; returns when all but the last 64 KiB were read.
    func write(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    func send(_ signal: Int32) {
        kill(process.processIdentifier, signal)
    }

    /// Ends its input and waits for it.
    func finish() throws -> ToolResult {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        func text(_ path: String) throws -> String {
            String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        }
        let status = process.terminationStatus
        return ToolResult(
            status: process.terminationReason == .uncaughtSignal ? 128 + status : status,
            output: try text(outputPath), messages: try text(messagesPath))
    }
}

/// Lines of generated documents.
func generatedLines(_ numbers: Range<Int>) -> String {
    numbers.map { number in
        #"{"id":"d\#(number)","number":\#(number),"name":"document \#(number)","#
            + #""text":"\#(String(repeating: "some words of text \(number % 7) ", count: 12))"}"#
            + "\n"
    }.joined()
}
