import Foundation
import Measuring

/// A run of the program: its options, working directory and report.
final class Run {
    /// A wrong result of a system.
    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    /// A system's implementation of an operation, which returns the number of documents found.
    typealias Body = (system: System, run: () async throws -> Int)

    let options: Options
    let report = Report()
    let directory: String
    /// The sizes of the stores built so far.
    var built: Set<Int> = []
    /// The same of stores with trees.
    var builtTrees: Set<Int> = []

    init(_ options: Options) throws {
        self.options = options
        directory =
            options.parent + "/client-benchmarks-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
    }

    func removeDirectory() { try? FileManager.default.removeItem(atPath: directory) }

    func path(_ name: String) -> String { directory + "/" + name }

    /// A copy of a closed store, without lock files.
    func copy(_ name: String, to copy: String) throws -> String {
        try? FileManager.default.removeItem(atPath: path(copy))
        try FileManager.default.createDirectory(
            atPath: path(copy), withIntermediateDirectories: true)
        for file in try FileManager.default.contentsOfDirectory(atPath: path(name))
        where !file.contains("lock") && !file.hasSuffix("-shm") {
            try FileManager.default.copyItem(
                atPath: path(name) + "/" + file, toPath: path(copy) + "/" + file)
        }
        return path(copy)
    }

    /// Measures an operation with all systems in turn, after a warm-up round.
    ///
    /// - Parameters:
    ///   - units: the number of units per pass.
    ///   - first: the index of the system that starts the first round.
    func measure(
        _ row: Row, count: Int, units: Int, expected: Int, warmsUp: Bool = true,
        rounds: Int? = nil, isPrinted: Bool = true, startingAt first: Int = 0, _ bodies: [Body]
    ) async throws {
        let bodies = bodies.filter { options.systems.contains($0.system) }
        for round in (warmsUp ? -1 : 0)..<(rounds ?? options.rounds) {
            for turn in bodies.indices {
                let body = bodies[(turn + round + 1 + first) % bodies.count]
                let start = Elapsed.now
                let found = try await body.run()
                let elapsed = Elapsed.now - start
                guard found == expected else {
                    throw Wrong(
                        description: "\(body.system.label), \(row.title): \(found) found, "
                            + "\(expected) expected")
                }
                if round >= 0 {
                    report.add(row, count: count, body.system, elapsed / Double(units))
                }
            }
        }
        if isPrinted { report.printRow(row.id, count: count) }
    }
}

/// The same data in each of the selected systems.
class Peers<Larder, Floor, GRDB> {
    let larder: Larder?
    let floor: Floor?
    let grdb: GRDB?

    init(larder: Larder?, floor: Floor?, grdb: GRDB?) {
        (self.larder, self.floor, self.grdb) = (larder, floor, grdb)
    }

    /// One implementation for each of the selected systems.
    func bodies(
        larder: @escaping (Larder) async throws -> Int,
        floor: @escaping (Floor) -> Int,
        grdb: @escaping (GRDB) throws -> Int
    ) -> [Run.Body] {
        var bodies: [Run.Body] = []
        if let peer = self.larder { bodies.append((.larder, { try await larder(peer) })) }
        if let peer = self.floor { bodies.append((.floor, { floor(peer) })) }
        if let peer = self.grdb { bodies.append((.grdb, { try grdb(peer) })) }
        return bodies
    }
}

/// The same documents in each of the selected systems.
final class Stores: Peers<LarderPeer, FloorPeer, GRDBPeer> {
    let count: Int

    /// Opens copies of the stores with that many documents.
    init(_ run: Run, count: Int) throws {
        self.count = count
        let systems = run.options.systems
        try Self.build(run, count: count)
        func directory(_ system: System) throws -> String {
            try run.copy("\(system)-\(count)", to: "\(system)-copy")
        }
        super.init(
            larder: systems.contains(.larder)
                ? try LarderPeer(directory: directory(.larder)) : nil,
            floor: systems.contains(.floor) ? FloorPeer(directory: try directory(.floor)) : nil,
            grdb: systems.contains(.grdb) ? try GRDBPeer(directory: directory(.grdb)) : nil)
    }

    func close() async throws {
        try await larder?.close()
        try grdb?.close()
    }

    /// Creates the closed stores that operations copy: without indexes and pending writes.
    static func build(_ run: Run, count: Int) throws {
        guard run.built.insert(count).inserted else { return }
        if run.options.systems.contains(.larder) {
            try LarderPeer.fill(directory: run.path("larder-\(count)"), count: count)
        }
        if run.options.systems.contains(.floor) {
            let floor = FloorPeer(directory: run.path("floor-\(count)"), isDurable: false)
            floor.fill(count: count)
        }
        if run.options.systems.contains(.grdb) {
            let grdb = try GRDBPeer(directory: run.path("grdb-\(count)"), isDurable: false)
            try grdb.fill(count: count)
            try grdb.close()
        }
    }
}

extension Run {
    /// Runs an operation of a measuring program and adds its rows to the report.
    ///
    /// - Parameters:
    ///   - rows: all rows of the program.
    ///   - program: the program; nil to skip the operation.
    ///   - option: the option that specifies the program.
    func measure(
        _ rows: [Row], of operation: String, _ arguments: [String], count: Int,
        by program: String?, option: String
    ) throws {
        guard let program else {
            return print("\n    \(operation): skipped, specify the program with \(option)")
        }
        let figures: [Figure] = try MeasuringProgram(path: program).run([operation] + arguments)
        for figure in figures {
            guard let row = rows.first(where: { $0.id == figure.row }),
                let system = System(rawValue: figure.side.rawValue)
            else { throw Run.Wrong(description: "\(program) has an unknown row \(figure.row)") }
            report.add(
                row, count: count, system,
                Elapsed(wall: figure.wall, processor: figure.processor))
        }
        for row in rows where figures.contains(where: { $0.row == row.id }) {
            report.printRow(row.id, count: count)
        }
    }
}

/// A program of Larder's package that measures what the public API does not expose.
struct MeasuringProgram {
    let path: String

    /// Runs the program and decodes its standard output.
    func run<Figures: Decodable>(_ arguments: [String]) throws -> Figures {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Run.Wrong(description: "\(path) failed")
        }
        return try JSONDecoder().decode(Figures.self, from: data)
    }
}
