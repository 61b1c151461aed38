import ArgumentParser
import LarderRealtime

/// `larder rtdb export`: the data of a location as a JSON file.
struct RealtimeExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Exports the data of a location as one JSON value, with pending writes applied.",
        discussion: """
            Priorities are members named ".priority", beside ".value" for data without children; \
            there are no arrays. 'larder rtdb import' and the Firebase console read it. The data \
            is read into memory. If the cache does not hold all of it, a message on standard \
            error says so, and the exit status is 1.

            EXAMPLES
              larder rtdb export --output everything.json
              larder rtdb export scores | gzip > scores.json.gz
            """)

    @Argument(help: ArgumentHelp("The path of the location; / is the root.", valueName: "path"))
    var path = "/"

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, which is replaced atomically at the end.", valueName: "file"))
    var output: String?

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        Interruption.catchSignals()
        let isComplete = try await options.withDatabase(about: "'\(path)'") { session in
            let snapshot: DataSnapshot
            do {
                snapshot = try await session.database.reference(withPath: path).getData()
            } catch let error as DatabaseError where error.kind == .unavailable {
                throw ToolError(
                    .noInput, "'\(path)' is not in the cache",
                    hint: "'larder rtdb get' and 'query' show what is cached of a location")
            }
            try write(snapshot)
            RealtimeReport.warnIfIncomplete(snapshot)
            return snapshot.metadata.isComplete
        }
        if !isComplete { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func write(_ snapshot: DataSnapshot) throws {
        guard let output else {
            let standard = Output.standard()
            _ = try export(snapshot, to: standard)
            return try standard.flush()
        }
        let file = try ReplacedFile(output)
        do {
            let valueCount = try export(snapshot, to: file.output)
            try file.finish()
            try summarize(valueCount, in: output)
        } catch {
            file.discard()
            throw error
        }
    }

    /// Writes the data.
    ///
    /// - Returns: the number of values without children.
    private func export(_ snapshot: DataSnapshot, to output: Output) throws -> Int64 {
        var bar = ProgressBar("export", unit: .count("values"))
        defer { bar.finish() }
        var valueCount: Int64 = 0
        var bytes: [UInt8] = []
        try RealtimeJSON.append(snapshot, to: &bytes) { bytes in
            valueCount += 1
            bar.update(valueCount, of: 0)
            if bytes.count >= 64 * 1024 {
                output.append { $0 += bytes }
                bytes.removeAll(keepingCapacity: true)
            }
            if Interruption.isRequested { throw ToolError.interrupted }
        }
        output.append { $0 += bytes }
        output.line()
        return valueCount
    }

    private func summarize(_ valueCount: Int64, in file: String) throws {
        let standard = Output.standard()
        if options.json {
            standard.line([
                "path": .string(path),
                "valueCount": .integer(valueCount),
                "file": .string(file),
            ])
        } else {
            standard.line(
                "exported \(NumberText.things(valueCount, "value")) of \(path) to \(file)")
        }
        try standard.flush()
    }
}
