import ArgumentParser
import Larder
import LarderModel

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
