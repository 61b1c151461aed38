import BenchmarkMeasuring
import Foundation

/// The state shared by the rows: programs, a temporary directory, the report.
final class Run {
    let report = Report()
    let rounds: Int
    let isQuick: Bool
    /// The path of Google's emulator; nil if it is not installed.
    let emulator: String?
    private let larderd: String
    private let directory: String

    /// - Throws: for a missing program.
    init(larderd: String, emulator: String?, parent: String, rounds: Int, isQuick: Bool) throws {
        for path in [larderd, emulator].compactMap({ $0 }) {
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw WireConnection.Problem(description: "the program \(path) does not exist")
            }
        }
        self.larderd = larderd
        self.emulator = emulator ?? Self.installedEmulator
        self.rounds = max(1, rounds)
        self.isQuick = isQuick
        directory = "\(parent)/larder-wire-\(ProcessInfo.processInfo.processIdentifier)"
    }

    /// Removes the temporary directory.
    func removeDirectory() {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A unique path for a row.
    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Starts `larderd` with the databases of a name.
    ///
    /// - Parameter arguments: further ones of the program.
    func startServer(_ name: String, arguments: [String] = []) throws -> ServerProcess {
        try FileManager.default.createDirectory(
            atPath: path(name), withIntermediateDirectories: true)
        return try ServerProcess.larderd(larderd, directory: path(name), arguments: arguments)
    }

    /// Starts `larderd` with databases in memory.
    ///
    /// - Parameter arguments: further ones of the program.
    func startServerInMemory(arguments: [String] = []) throws -> ServerProcess {
        try ServerProcess.larderd(larderd, directory: nil, arguments: arguments)
    }

    /// Starts an echo of WebSocket frames, to their connection or to all.
    func startEchoServer(toAll: Bool = false) throws -> ServerProcess {
        try ServerProcess.echo(toAll: toAll)
    }

    /// A count, smaller in a quick run.
    func count(_ count: Int, quick: Int) -> Int { isQuick ? quick : count }

    /// Sets documents in several commits.
    func load(
        _ server: ServerProcess, _ collection: String, count: Int, isLarge: Bool = false
    ) throws {
        let size = isLarge ? 40 : 200
        let load = Load(server, connections: 4, callsAtATime: 4)
        let commits = Load.Call(method: "Commit") { number in
            try Requests.commit(
                (min(number * size, count)..<min((number + 1) * size, count)).map {
                    Requests.document(collection, $0, isLarge: isLarge)
                })
        }
        // The same number for each connection; those after the last document are empty.
        _ = try load.run(commits, count: (count + size * 4 - 1) / (size * 4) * 4)
    }

    /// The path of Google's emulator in `PATH` or in the usual places of its packages; nil without
    /// Java.
    private static var installedEmulator: String? {
        let environment = ProcessInfo.processInfo.environment
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        guard program("java", in: path) != nil else { return nil }
        let packages = [
            environment["CLOUDSDK_ROOT_DIR"], "/usr/lib/google-cloud-sdk",
            environment["HOME"].map { "\($0)/google-cloud-sdk" },
        ].compactMap { $0.map { "\($0)/platform/cloud-firestore-emulator" } }
        return program("cloud_firestore_emulator", in: path + packages)
    }

    private static func program(_ name: String, in folders: [String]) -> String? {
        folders.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A server process, which ends with this object.
final class ServerProcess {
    /// The measured server.
    enum Kind: String, CaseIterable {
        case larderd
        case emulator
    }

    let port: Int
    /// A socket that is bound to the port and does not listen: no other program can take the port
    /// before the server listens.
    private let reservation: FileHandle
    private let process = Process()

    /// Starts `larderd` on a free port, and waits until it listens.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - directory: the directory of its databases; nil for memory.
    ///   - arguments: further ones.
    static func larderd(
        _ program: String, directory: String?, arguments: [String] = []
    ) throws -> ServerProcess {
        let storage = directory.map { ["--data", $0] } ?? ["--memory"]
        return try ServerProcess(program) { storage + ["--port", "\($0)"] + arguments }
    }

    /// Starts Google's emulator on a free port, and waits until it listens.
    ///
    /// - Parameter program: the path of its script; the archive beside it is run directly, without
    ///   a shell.
    static func emulator(_ program: String) throws -> ServerProcess {
        let archive = URL(fileURLWithPath: program).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("cloud-firestore-emulator.jar")
        return try ServerProcess("/usr/bin/env") {
            [
                "java", "-Duser.language=en", "-cp", archive.path,
                "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start",
                "--host=127.0.0.1", "--port=\($0)",
            ]
        }
    }

    /// Starts ``EchoServer`` on a free port, and waits until it listens.
    static func echo(toAll: Bool) throws -> ServerProcess {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return try ServerProcess(program) {
            ["echo-server", "--port", "\($0)"] + (toAll ? ["--to-all"] : [])
        }
    }

    private init(_ program: String, _ arguments: (Int) -> [String]) throws {
        (port, reservation) = try Self.reservedPort()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments(port)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let deadline = Date(timeIntervalSinceNow: 60)
        while (try? WireConnection(port: port)) == nil {
            guard process.isRunning, Date() < deadline else {
                stop()
                throw WireConnection.Problem(description: "\(program) does not listen")
            }
            usleep(20_000)
        }
    }

    deinit { stop() }

    /// Stops the process gracefully, or kills it after a timeout.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        let deadline = Date(timeIntervalSinceNow: 10)
        while process.isRunning, Date() < deadline { usleep(10_000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Waits for the end of background work, such as Java's compilation, for a limited time.
    func rest() {
        let deadline = Date(timeIntervalSinceNow: 5)
        var before = processorTime
        while Date() < deadline {
            usleep(200_000)
            let now = processorTime
            // At most one tick of the processor clock.
            if now - before < 0.015 { return }
            before = now
        }
    }

    // MARK: Resources

    /// The process's ID, as in `/proc`.
    var identifier: String { "\(process.processIdentifier)" }

    /// The processor time of its threads so far in seconds, to a hundredth.
    var processorTime: Double {
        let path = "/proc/\(process.processIdentifier)/stat"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        // After the program's name in brackets: user and system time are the 12th and 13th field.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12 else { return 0 }
        return (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
    }

    /// The resident memory in bytes, including mapped files.
    var residentBytes: Double {
        Double(ProcessStatus.bytes("VmRSS", of: "\(process.processIdentifier)"))
    }

    /// The resident memory in bytes, without mapped files.
    var anonymousBytes: Double {
        Double(ProcessStatus.bytes("RssAnon", of: "\(process.processIdentifier)"))
    }

    private static func reservedPort() throws -> (Int, FileHandle) {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let handle = FileHandle(fileDescriptor: socket, closeOnDealloc: true)
        var (isOn, address) = (Int32(1), sockaddr_in())
        // The server, which sets it, too, can listen at the same port.
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(socket, pointer, count) | getsockname(socket, pointer, &count)
        }
        guard result == 0 else { throw WireConnection.Problem(description: "no port is free") }
        return (Int(UInt16(bigEndian: address.sin_port)), handle)
    }
}
