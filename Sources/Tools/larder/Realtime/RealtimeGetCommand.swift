import ArgumentParser
import LarderRealtime

/// `larder rtdb get`: the data of locations.
struct RealtimeGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Prints the data of locations, with pending writes applied.",
        discussion: """
            Prints indented JSON, with priorities as ".priority" and ".value". With --json, \
            prints one object per line: path, exists, isComplete, isFromCache, hasPendingWrites \
            and value. Locations without data, or with none in the cache, are reported on \
            standard error, and the exit status is 1. The path / is the root.

            EXAMPLES
              larder rtdb get scores/lambeosaurus
              larder rtdb get / --json | jq .value
            """)

    @Argument(help: ArgumentHelp("Paths of locations.", valueName: "path"))
    var paths: [String]

    @OptionGroup var options: RealtimeOptions

    func run() async throws {
        let output = Output.standard()
        var missing = 0
        try await options.withDatabase { session in
            for path in paths {
                let location = session.database.reference(withPath: path)
                if let reason = try await print(location, named: path, to: output) {
                    missing += 1
                    Messages.line("larder: '\(path)' \(reason)")
                }
            }
        }
        try output.flush()
        if missing > 0 { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    /// Prints the data of a location.
    ///
    /// - Returns: why there is none; nil if there is.
    private func print(
        _ location: DatabaseReference, named path: String, to output: Output
    ) async throws -> String? {
        let snapshot: DataSnapshot
        do {
            snapshot = try await location.getData()
        } catch let error as DatabaseError where error.kind == .unavailable {
            return "is not in the cache"
        } catch let error as DatabaseError where error.kind == .invalidArgument {
            throw ToolError(error.error, about: "'\(path)'")
        }
        if options.json {
            output.line(RealtimeReport.snapshot(snapshot))
        } else if snapshot.exists() {
            output.append { bytes in
                RealtimeJSON.append(snapshot, to: &bytes, indentation: 0)
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        if snapshot.exists() {
            RealtimeReport.warnIfIncomplete(snapshot)
            return nil
        }
        return snapshot.metadata.isComplete ? "has no data" : "is not in the cache"
    }
}

/// Reports of snapshots.
enum RealtimeReport {
    static func snapshot(_ snapshot: DataSnapshot) -> JSONReport {
        [
            "path": .string(RealtimePath.text(snapshot.ref)),
            "exists": .boolean(snapshot.exists()),
            "isComplete": .boolean(snapshot.metadata.isComplete),
            "isFromCache": .boolean(snapshot.metadata.isFromCache),
            "hasPendingWrites": .boolean(snapshot.metadata.hasPendingWrites),
            "value": .snapshot(snapshot),
        ]
    }

    /// Says that children may be missing in what was printed.
    static func warnIfIncomplete(_ snapshot: DataSnapshot) {
        guard !snapshot.metadata.isComplete else { return }
        Messages.line(
            "larder: the cache does not hold all of '\(RealtimePath.text(snapshot.ref))': the "
                + "server may have more")
    }
}
