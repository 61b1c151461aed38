import ArgumentParser
import Larder
import LarderModel

/// `larder pending`: the writes that no backend has taken yet.
struct PendingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "Lists the writes that wait for a backend, or takes some back.",
        discussion: """
            Oldest first: number, age, attempts to send it, documents, the last error. \
            --cancel takes a write back: its documents become as if it had never been made. Exit \
            status 1: a write to cancel is not there.

            EXAMPLES
              larder pending
              larder pending --cancel 12
            """)

    @Option(help: ArgumentHelp("Take this write back (may be repeated).", valueName: "number"))
    var cancel: [Int64] = []

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        if cancel.isEmpty {
            try await options.withDatabase(.readOnly) { firestore in
                list(try await firestore.pendingWrites(), to: output)
            }
        } else {
            try await options.withDatabase(.readWrite) { firestore in
                isMissing = try await cancelWrites(of: firestore, output)
            }
        }
        try output.flush()
        if isMissing { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func list(_ writes: [PendingWrite], to output: Output) {
        if options.json {
            output.line(["pending": .array(writes.map(Self.report))])
            return
        }
        guard !writes.isEmpty else {
            Messages.line("larder: no write is pending")
            return
        }
        var table = TextTable([
            ("write", .right), ("age", .right), ("attempts", .right), ("documents", .left),
            ("last error", .left),
        ])
        for write in writes {
            table.add(
                String(write.id), NumberText.duration(seconds: max(0, write.age)),
                NumberText.count(write.attemptCount), DocumentList.text(write.documents),
                write.lastError ?? "")
        }
        for line in table.lines { output.line(line) }
    }

    /// Takes the writes back, and says of each whether it was there.
    ///
    /// - Returns: whether one was not.
    private func cancelWrites(of firestore: Firestore, _ output: Output) async throws -> Bool {
        let pending = try await firestore.pendingWrites()
        var (cancelled, missing) = ([PendingWrite](), [Int64]())
        for id in cancel {
            if let write = pending.first(where: { $0.id == id }),
                try await firestore.cancelPendingWrite(id)
            {
                cancelled.append(write)
            } else {
                missing.append(id)
                Messages.line(
                    "larder: write \(id) is not pending; 'larder pending' lists those that are")
            }
        }
        if options.json {
            output.line([
                "cancelled": .array(cancelled.map(Self.report)),
                "missing": .array(missing.map { .integer($0) }),
            ])
        } else {
            for write in cancelled {
                output.line("cancelled write \(write.id): \(DocumentList.text(write.documents))")
            }
        }
        return !missing.isEmpty
    }

    private static func report(_ write: PendingWrite) -> JSONReport {
        [
            "write": .integer(write.id),
            "documents": .array(write.documents.map { .string($0.path) }),
            "writeTime": .time(write.writeTime),
            "ageSeconds": .rounded(max(0, write.age)),
            "attemptCount": .integer(write.attemptCount),
            "lastAttempt": .time(write.lastAttempt),
            "lastError": write.lastError.map { .string($0) } ?? .null,
        ]
    }
}
