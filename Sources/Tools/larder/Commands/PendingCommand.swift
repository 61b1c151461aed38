import ArgumentParser
import Larder
import LarderModel

/// `larder pending`: writes without an acknowledgement of the backend.
struct PendingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "Lists or cancels pending writes.",
        discussion: """
            Lists ID, age, attempts, documents and the last error of each write, oldest first. \
            --cancel cancels a write and reverts its effect on documents. Exit status 1 if a \
            write to cancel does not exist.

            EXAMPLES
              larder pending
              larder pending --cancel 12
            """)

    @OptionGroup var changes: CancelOptions

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        if changes.cancel.isEmpty {
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
            Messages.line("larder: no pending writes")
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

    /// Cancels writes, and reports missing ones.
    ///
    /// - Returns: whether one was missing.
    private func cancelWrites(of firestore: Firestore, _ output: Output) async throws -> Bool {
        let outcome = try await CancelOutcome(
            cancelling: changes.cancel, of: try await firestore.pendingWrites(),
            onCancel: { try await firestore.cancelPendingWrite($0) })
        outcome.print(
            to: output, json: options.json, command: "larder pending", report: Self.report,
            text: { DocumentList.text($0.documents) })
        return !outcome.missing.isEmpty
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

/// `larder dead-letters`: the writes that a backend rejected.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Lists, retries or discards writes that a backend rejected.",
        discussion: """
            Lists ID, time of rejection, failed attempts, documents and reason of each write, in \
            the order in which the writes were applied. Their effects are reverted. --retry queues a \
            write again, with a new ID and after all pending writes; the next program with a \
            backend sends it. --discard removes one. Exit status 1 if a dead letter to retry or \
            discard does not exist.

            EXAMPLES
              larder dead-letters
              larder dead-letters --retry 12
              larder dead-letters --discard 12 --discard 13
            """)

    @OptionGroup var changes: DeadLetterOptions

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        if changes.isEmpty {
            try await options.withDatabase(.readOnly) { firestore in
                list(try await firestore.deadLetters(), to: output)
            }
        } else {
            try await options.withDatabase(.readWrite) { firestore in
                isMissing = try await retryAndDiscard(in: firestore, output)
            }
        }
        try output.flush()
        if isMissing { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private func list(_ letters: [DeadLetter], to output: Output) {
        if options.json {
            output.line(["deadLetters": .array(letters.map(Self.report))])
            return
        }
        guard !letters.isEmpty else {
            Messages.line("larder: no dead letters")
            return
        }
        var table = TextTable([
            ("write", .right), ("refused", .left), ("attempts", .right), ("documents", .left),
            ("reason", .left),
        ])
        for letter in letters {
            table.add(
                String(letter.id), letter.rejectionTime.description,
                NumberText.count(letter.attemptCount), DocumentList.text(letter.documents),
                "\(letter.error.kind): \(letter.error.message)")
        }
        for line in table.lines { output.line(line) }
    }

    /// Retries and discards dead letters, and reports missing ones.
    ///
    /// - Returns: whether one was missing.
    private func retryAndDiscard(in firestore: Firestore, _ output: Output) async throws -> Bool {
        let outcome = try await DeadLetterOutcome(
            changes,
            onRetry: { try await firestore.retryDeadLetter($0)?.committedLocally() },
            onDiscard: { try await firestore.discardDeadLetter($0) })
        outcome.print(to: output, json: options.json, command: "larder dead-letters")
        return !outcome.missing.isEmpty
    }

    private static func report(_ letter: DeadLetter) -> JSONReport {
        [
            "write": .integer(letter.id),
            "documents": .array(letter.documents.map { .string($0.path) }),
            "writeTime": .time(letter.writeTime),
            "rejectionTime": .time(letter.rejectionTime),
            "attemptCount": .integer(letter.attemptCount),
            "code": .string("\(letter.error.kind)"),
            "reason": .string(letter.error.message),
        ]
    }
}

/// The documents of a write on one line.
enum DocumentList {
    /// The first three paths and the number of further ones.
    static func text(_ documents: [DocumentReference]) -> String {
        let shown = documents.prefix(3).map(\.path).joined(separator: ", ")
        let more = documents.count - 3
        return more > 0 ? "\(shown) and \(NumberText.count(more)) more" : shown
    }
}
