import Foundation

/// One run of the program: what it was asked for, where it works, what it found.
final class Run {
    /// Something was found that no system may get wrong.
    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    /// One system's way to do an operation; the result is how many documents it found.
    typealias Body = (system: System, run: () async throws -> Int)

    let options: Options
    let report = Report()
    let directory: String
    /// The numbers of documents that stores were built of.
    var built: Set<Int> = []

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

    /// Measures an operation: systems in turn, rounds after a first pass that does not count.
    ///
    /// - Parameters:
    ///   - units: how many of what the row is of one pass does.
    ///   - first: whose turn it is in the first round.
    func measure(
        _ row: Row, count: Int, units: Int, expected: Int, warmsUp: Bool = true,
        rounds: Int? = nil, isPrinted: Bool = true, startingAt first: Int = 0, _ bodies: [Body]
    ) async throws {
        let bodies = bodies.filter { options.systems.contains($0.system) }
        for round in (warmsUp ? -1 : 0)..<(rounds ?? options.rounds) {
            for turn in bodies.indices {
                let body = bodies[(turn + round + 1 + first) % bodies.count]
                let watch = Stopwatch()
                let found = try await body.run()
                let elapsed = watch.elapsed
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
