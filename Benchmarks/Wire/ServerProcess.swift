import Foundation

/// A server in a process of its own, which ends with this object.
final class ServerProcess {
    /// What is measured.
    enum Kind: String, CaseIterable {
        case larderd
        case emulator
    }

    /// The port that it listens at.
    let port: Int
    private let process = Process()

    /// Starts `larderd` on a free port, and waits until it listens.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - directory: where its databases are kept; nil for memory.
    static func larderd(_ program: String, directory: String?) throws -> ServerProcess {
        let storage = directory.map { ["--data", $0] } ?? ["--memory"]
        return try ServerProcess(program) { storage + ["--port", "\($0)"] }
    }

    /// Starts Google's emulator on a free port, and waits until it listens.
    ///
    /// - Parameter program: the path of its script; the archive beside it is what runs, so that
    ///   there is no shell between.
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

    private init(_ program: String, _ arguments: (Int) -> [String]) throws {
        port = try Self.freePort()
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

    /// Ends it in good order, or after a while without.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        let deadline = Date(timeIntervalSinceNow: 10)
        while process.isRunning, Date() < deadline { usleep(10_000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Waits until it does nothing of its own accord, as compiling what it has run, which Java does
    /// beside it; not for ever.
    func rest() {
        let deadline = Date(timeIntervalSinceNow: 5)
        var before = processorTime
        while Date() < deadline {
            usleep(200_000)
            let now = processorTime
            // No more than a tick of the clock that counts it.
            if now - before < 0.015 { return }
            before = now
        }
    }

    // MARK: What it uses

    /// Seconds that its threads have run so far, to a hundredth.
    var processorTime: Double {
        let path = "/proc/\(process.processIdentifier)/stat"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        // Behind the program's name in brackets: user and system time are the 12th and 13th.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12 else { return 0 }
        return (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
    }

    /// Bytes that lie in memory, mapped files among them.
    var residentBytes: Double { ProcessStatus.bytes("VmRSS", of: "\(process.processIdentifier)") }

    /// Bytes that lie in memory and that no file backs.
    var anonymousBytes: Double {
        ProcessStatus.bytes("RssAnon", of: "\(process.processIdentifier)")
    }

    private static func freePort() throws -> Int {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(socket, pointer, count) | getsockname(socket, pointer, &count)
        }
        guard result == 0 else { throw WireConnection.Problem(description: "no port is free") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// What the system says of a process.
enum ProcessStatus {
    /// An amount of memory in bytes; 0 where there is no such process.
    static func bytes(_ name: String, of process: String = "self") -> Double {
        let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        for line in (text ?? "").split(separator: "\n") where line.hasPrefix("\(name):") {
            return (Double(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0) * 1_024
        }
        return 0
    }
}
