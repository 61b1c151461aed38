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

/// `larder dead-letters`: the writes that a backend has refused.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Lists the writes that a backend has refused, or sees to some.",
        discussion: """
            In the order in which they were made: number, when it was refused, how often it was \
            tried in vain before, documents, why. Their documents are as if they had never been \
            made. --retry makes a write again, with a new number behind all that are pending; the \
            next program with a backend sends it. --discard forgets one. Exit status 1: a dead \
            letter to see to is not there.

            EXAMPLES
              larder dead-letters
              larder dead-letters --retry 12
              larder dead-letters --discard 12 --discard 13
            """)

    @Option(help: ArgumentHelp("Make this write again (may be repeated).", valueName: "number"))
    var retry: [Int64] = []

    @Option(help: ArgumentHelp("Forget this write (may be repeated).", valueName: "number"))
    var discard: [Int64] = []

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if let both = retry.first(where: discard.contains) {
            throw ValidationError("--retry and --discard both name \(both).")
        }
    }

    func run() async throws {
        let output = Output.standard()
        var isMissing = false
        if retry.isEmpty && discard.isEmpty {
            try await options.withDatabase(.readOnly) { firestore in
                list(try await firestore.deadLetters(), to: output)
            }
        } else {
            try await options.withDatabase(.readWrite) { firestore in
                isMissing = try await seeTo(firestore, output)
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
            Messages.line("larder: no write was refused")
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

    /// Makes writes again and forgets others, and says of each whether it was there.
    ///
    /// - Returns: whether one was not.
    private func seeTo(_ firestore: Firestore, _ output: Output) async throws -> Bool {
        var (retried, discarded, missing) = ([(Int64, Int64)](), [Int64](), [Int64]())
        for id in retry {
            if let write = try await firestore.retryDeadLetter(id),
                let newID = try await write.committedLocally()
            {
                retried.append((id, newID))
            } else {
                missing.append(id)
            }
        }
        for id in discard {
            if try await firestore.discardDeadLetter(id) {
                discarded.append(id)
            } else {
                missing.append(id)
            }
        }
        for id in missing {
            Messages.line(
                "larder: there is no dead letter \(id); 'larder dead-letters' lists those there are"
            )
        }
        if options.json {
            output.line([
                "retried": .array(
                    retried.map { ["deadLetter": .integer($0.0), "write": .integer($0.1)] }),
                "discarded": .array(discarded.map { .integer($0) }),
                "missing": .array(missing.map { .integer($0) }),
            ])
        } else {
            for (id, newID) in retried {
                output.line("dead letter \(id) is pending again as write \(newID)")
            }
            for id in discarded { output.line("discarded dead letter \(id)") }
        }
        return !missing.isEmpty
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

/// The documents of a write, in a line.
enum DocumentList {
    /// The first three paths, and how many more there are.
    static func text(_ documents: [DocumentReference]) -> String {
        let shown = documents.prefix(3).map(\.path).joined(separator: ", ")
        let more = documents.count - 3
        return more > 0 ? "\(shown) and \(NumberText.count(more)) more" : shown
    }
}
