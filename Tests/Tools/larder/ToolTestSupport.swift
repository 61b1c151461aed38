import Foundation
import LarderModel
import LarderTestSupport
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
        try text(ofFile: path + "/" + name)
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

    /// Runs a line of the shell; `$larder` in it is the tool.
    static func shell(_ line: String, in folder: TemporaryFolder) throws -> ToolResult {
        try RunningTool(
            ["-c", line], in: folder,
            environment: ["larder": executable, "LARDER_STORE": folder.store],
            executable: "/bin/sh"
        ).finish()
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

/// The tool, or a shell that calls it, while it runs.
final class RunningTool {
    private let process: pid_t
    private var input: Int32
    private let outputPath: String
    private let messagesPath: String
    private var liveOutput: LineReader?
    private var liveMessages: LineReader?

    /// Starts it; with `isLive` its lines can be read while it runs.
    init(
        _ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:],
        executable: String = Tool.executable, isLive: Bool = false
    ) throws {
        let name = UUID().uuidString
        outputPath = try folder.file("\(name).out", isLive ? nil : "")
        messagesPath = try folder.file("\(name).err", isLive ? nil : "")
        if isLive {
            liveOutput = try LineReader(pipe: outputPath)
            liveMessages = try LineReader(pipe: messagesPath)
        }
        // A pipe with a name: unlike pipe(), open() makes the writing end at once such that
        // processes that other tests start meanwhile do not keep it open.
        let inputPath = folder.path + "/\(name).in"
        try #require(mkfifo(inputPath, 0o600) == 0)
        let holder = open(inputPath, O_RDWR | O_CLOEXEC)
        defer { close(holder) }
        input = open(inputPath, O_WRONLY | O_CLOEXEC)
        try #require(holder >= 0 && input >= 0)
        // Writing to a tool that has ended is an error to ignore, not a signal.
        signal(SIGPIPE, SIG_IGN)

        var variables = ProcessInfo.processInfo.environment
        variables["LARDER_STORE"] = nil
        variables.merge(environment) { $1 }
        let shell = ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, folder.path, executable]
        process = try spawn(
            shell[0], Array(shell.dropFirst()) + arguments, environment: variables
        ) { [outputPath, messagesPath] actions in
            posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 2, messagesPath, O_WRONLY, 0)
        }
    }

    deinit {
        if input >= 0 { close(input) }
    }

    /// Writes to its standard input; returns when all but the last 64 KiB were read.
    func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { System.write($0, to: input) }
    }

    func send(_ signal: Int32) {
        kill(process, signal)
    }

    /// The next line that it prints, as soon as it does; nil when it has ended.
    func nextLine() -> String? { liveOutput?.next() }

    /// The next line on standard error, as soon as it is there; nil when the tool has ended.
    func nextMessage() -> String? { liveMessages?.next() }

    /// Ends its input and waits for it; of one that is live, gives what was not read yet.
    func finish() throws -> ToolResult {
        close(input)
        input = -1
        let (lines, messages) = (liveOutput?.rest(), liveMessages?.rest())
        return ToolResult(
            status: waitForEnd(of: process),
            output: try lines ?? text(ofFile: outputPath),
            messages: try messages ?? text(ofFile: messagesPath))
    }
}

/// Lines of a pipe with a name, read as they come.
private final class LineReader {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(pipe path: String) throws {
        try #require(mkfifo(path, 0o600) == 0)
        // Without waiting for the one who writes, whom reading then waits for.
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(descriptor >= 0)
        try #require(fcntl(descriptor, F_SETFL, 0) == 0)
    }

    deinit {
        close(descriptor)
    }

    /// The next line without its end; nil behind the last.
    func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            if !fill() { return nil }
        }
    }

    /// All that is left, up to the end.
    func rest() -> String {
        while fill() {}
        return String(decoding: buffer, as: UTF8.self)
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count > 0 { buffer += piece.prefix(count) }
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }
}

/// What a file holds; not by `Data(contentsOf:)`, which leaks for an empty file.
private func text(ofFile path: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
}

/// Lines of generated documents.
func generatedLines(_ numbers: Range<Int>) -> String {
    numbers.map { number in
        #"{"id":"d\#(number)","number":\#(number),"name":"document \#(number)","#
            + #""text":"\#(String(repeating: "some words of text \(number % 7) ", count: 12))"}"#
            + "\n"
    }.joined()
}

/// Expects an error of one line with a status and a text, and no output.
func expectError(
    _ result: ToolResult, _ status: Int32, _ text: String,
    location: SourceLocation = #_sourceLocation
) {
    #expect(result.status == status, "\(result)", sourceLocation: location)
    let line = result.messages.split(separator: "\n").first ?? ""
    #expect(line.hasPrefix("larder: error: "), "\(result)", sourceLocation: location)
    #expect(line.contains(text), "\(result)", sourceLocation: location)
    #expect(result.output == "", "\(result)", sourceLocation: location)
}
