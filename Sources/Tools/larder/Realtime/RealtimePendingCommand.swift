import ArgumentParser
import Foundation
import LarderCore
import LarderRealtime

/// `larder rtdb pending`: writes that no server has acknowledged.
struct RealtimePendingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "Lists or cancels pending writes of a Realtime Database.",
        discussion: """
            Lists ID, age, kind (set, update, transaction) and changes of each write, oldest \
            first; nothing is sent. --cancel cancels a write and reverts its effect. Exit status \
            1 if a write to cancel does not exist.

            EXAMPLES
              larder rtdb pending
              larder rtdb pending --cancel 12
            """)

    @OptionGroup var changes: CancelOptions

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        try await options.withRealtimeDatabase(.client(backend: nil, namespace: "")) { session in
            let database = session.database
            let writes = try await database.pendingWrites()
            if changes.cancel.isEmpty {
                list(writes, to: output)
            } else {
                isMissing = try await cancelWrites(writes, of: database, output)
            }
        }
        try output.flush()
        if isMissing { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func list(_ writes: [Database.PendingWrite], to output: Output) {
        if options.json {
            output.line(["pending": .array(writes.map(Self.report))])
            return
        }
        guard !writes.isEmpty else {
            Messages.line("larder: no pending writes")
            return
        }
        var table = TextTable([
            ("write", .right), ("age", .right), ("kind", .left), ("changes", .left),
        ])
        for write in writes {
            table.add(
                String(write.id), NumberText.duration(seconds: Self.age(of: write)),
                "\(write.kind)", WriteChangeList.text(write.changes))
        }
        let columns = output.isTerminal ? System.terminalColumns(1) : 120
        for line in table.lines { output.line(DisplayWidth.cut(line, to: columns)) }
    }

    /// Cancels writes, and reports missing ones.
    ///
    /// - Returns: whether one was missing.
    private func cancelWrites(
        _ writes: [Database.PendingWrite], of database: Database, _ output: Output
    ) async throws -> Bool {
        let outcome = try await CancelOutcome(
            cancelling: changes.cancel, of: writes,
            onCancel: { try await database.cancelPendingWrite($0) })
        outcome.print(
            to: output, json: options.json, command: "larder rtdb pending", report: Self.report,
            text: { WriteChangeList.text($0.changes) })
        return !outcome.missing.isEmpty
    }

    private static func age(of write: Database.PendingWrite) -> Double {
        max(0, -write.writeTime.dateValue().timeIntervalSinceNow)
    }

    private static func report(_ write: Database.PendingWrite) -> JSONReport {
        [
            "write": .integer(write.id),
            "kind": .string("\(write.kind)"),
            "changes": WriteChangeList.report(write.changes),
            "writeTime": .time(write.writeTime),
            "ageSeconds": .rounded(age(of: write)),
        ]
    }
}

/// `larder rtdb dead-letters`: the writes that a server refused.
struct RealtimeDeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Lists, retries or discards writes that a server refused.",
        discussion: """
            Lists ID, time of the refusal, reason and changes of each write, in the order in \
            which the writes were applied. Their effects are reverted. --retry queues a write again, \
            with a new ID and after all pending writes; the application sends it. --discard \
            removes one. Exit status 1 if a dead letter to retry or discard does not exist.

            EXAMPLES
              larder rtdb dead-letters
              larder rtdb dead-letters --retry 12 --discard 13
            """)

    @OptionGroup var changes: DeadLetterOptions

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        try await options.withRealtimeDatabase(.client(backend: nil, namespace: "")) { session in
            let database = session.database
            if changes.isEmpty {
                list(try await database.deadLetters(), to: output)
            } else {
                isMissing = try await retryAndDiscard(in: database, output)
            }
        }
        try output.flush()
        if isMissing { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func list(_ letters: [Database.DeadLetter], to output: Output) {
        if options.json {
            output.line(["deadLetters": .array(letters.map(Self.report))])
            return
        }
        guard !letters.isEmpty else {
            Messages.line("larder: no dead letters")
            return
        }
        var table = TextTable([
            ("write", .right), ("refused", .left), ("reason", .left), ("changes", .left),
        ])
        for letter in letters {
            table.add(
                String(letter.id), letter.rejectionTime.description,
                "\(letter.error.kind): \(letter.error.error.message)",
                WriteChangeList.text(letter.changes))
        }
        for line in table.lines { output.line(line) }
    }

    /// Retries and discards dead letters, and reports missing ones.
    ///
    /// - Returns: whether one was missing.
    private func retryAndDiscard(in database: Database, _ output: Output) async throws -> Bool {
        let outcome = try await DeadLetterOutcome(
            changes,
            onRetry: { try await database.retryDeadLetter($0)?.id },
            onDiscard: { try await database.discardDeadLetter($0) })
        outcome.print(to: output, json: options.json, command: "larder rtdb dead-letters")
        return !outcome.missing.isEmpty
    }

    private static func report(_ letter: Database.DeadLetter) -> JSONReport {
        [
            "write": .integer(letter.id),
            "changes": WriteChangeList.report(letter.changes),
            "writeTime": .time(letter.writeTime),
            "rejectionTime": .time(letter.rejectionTime),
            "code": .string("\(letter.error.kind)"),
            "reason": .string(letter.error.error.message),
        ]
    }
}

/// The changes of a write.
enum WriteChangeList {
    /// The first three changes by path on one line, and the number of further ones.
    static func text(_ changes: [Database.WriteChange]) -> String {
        let shown = sorted(changes).prefix(3).map { path, change in
            let value = RealtimeJSON.text(RealtimeJSON.json(change.value))
            return "\(path) = \(DisplayWidth.cut(value, to: 40))"
        }
        let more = changes.count - 3
        return shown.joined(separator: ", ")
            + (more > 0 ? " and \(NumberText.count(more)) more" : "")
    }

    static func report(_ changes: [Database.WriteChange]) -> JSONReport {
        .array(
            sorted(changes).map { path, change in
                ["path": .string(path), "value": .json(RealtimeJSON.json(change.value))]
            })
    }

    /// The changes in the order of their paths.
    private static func sorted(
        _ changes: [Database.WriteChange]
    ) -> [(path: String, change: Database.WriteChange)] {
        changes.map { (RealtimePath.text($0.ref), $0) }
            .sorted { $0.path.utf8Order(to: $1.path) < 0 }
    }
}
