import Foundation

/// What the rows have in common: programs, a directory that ends with the run, the report.
final class Run {
    let report = Report()
    let rounds: Int
    let isQuick: Bool
    /// The path of Google's emulator; nil where it is not installed.
    let emulator: String?
    private let larderd: String
    private let directory: String

    /// - Throws: where a program that was named is not there.
    init(larderd: String, emulator: String?, parent: String, rounds: Int, isQuick: Bool) throws {
        for path in [larderd, emulator].compactMap({ $0 }) {
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw WireConnection.Problem(description: "there is no program \(path)")
            }
        }
        self.larderd = larderd
        self.emulator = emulator ?? Self.installedEmulator
        self.rounds = max(1, rounds)
        self.isQuick = isQuick
        directory = "\(parent)/larder-wire-\(ProcessInfo.processInfo.processIdentifier)"
    }

    /// Removes what was kept.
    func removeDirectory() {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A path of its own for a row.
    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Starts `larderd` with the databases of a name.
    func startServer(_ name: String) throws -> ServerProcess {
        try FileManager.default.createDirectory(
            atPath: path(name), withIntermediateDirectories: true)
        return try ServerProcess.larderd(larderd, directory: path(name))
    }

    /// Starts `larderd` with databases in memory.
    func startServerInMemory() throws -> ServerProcess {
        try ServerProcess.larderd(larderd, directory: nil)
    }

    /// A count, smaller in a quick run.
    func count(_ count: Int, quick: Int) -> Int { isQuick ? quick : count }

    /// Sets documents in commits of some.
    func load(
        _ server: ServerProcess, _ collection: String, count: Int, isLarge: Bool = false
    ) throws {
        let size = isLarge ? 40 : 200
        let load = try Load(server, connections: 4, callsAtATime: 4)
        let commits = Load.Call(method: "Commit") { number in
            try Requests.commit(
                (min(number * size, count)..<min((number + 1) * size, count)).map {
                    Requests.document(collection, $0, isLarge: isLarge)
                })
        }
        // A whole number for each connection; those behind the last document are empty.
        _ = try load.run(commits, count: (count + size * 4 - 1) / (size * 4) * 4)
    }

    /// Where Google's emulator is: in `PATH`, or in one of the usual places of its packages; nil
    /// where there is no Java to run it.
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

/// Where it was measured.
enum Machine {
    static var summary: String {
        let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? "not known"
        return "    \(ProcessInfo.processInfo.activeProcessorCount) processors, load at the start "
            + load.prefix { $0 != " " }
    }
}
