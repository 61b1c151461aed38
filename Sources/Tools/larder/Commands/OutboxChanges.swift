import ArgumentParser

/// The option of commands that list and cancel pending writes.
struct CancelOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Cancel this write (may be repeated).", valueName: "number"))
    var cancel: [Int64] = []
}

/// The result of cancelling pending writes.
struct CancelOutcome<Write: Identifiable> where Write.ID == Int64 {
    private var cancelled: [Write] = []
    private(set) var missing: [Int64] = []

    /// Cancels writes.
    ///
    /// - Parameters:
    ///   - pending: the pending writes.
    ///   - onCancel: cancels one; false if it is not pending.
    init(
        cancelling ids: [Int64], of pending: [Write], onCancel: (Int64) async throws -> Bool
    ) async throws {
        for id in ids {
            if let write = pending.first(where: { $0.id == id }), try await onCancel(id) {
                cancelled.append(write)
            } else {
                missing.append(id)
            }
        }
    }

    /// Prints the result.
    ///
    /// - Parameters:
    ///   - command: the command that lists all pending writes.
    ///   - report: a write in JSON.
    ///   - text: the content of a write on one line.
    func print(
        to output: Output, json: Bool, command: String, report: (Write) -> JSONReport,
        text: (Write) -> String
    ) {
        for id in missing {
            Messages.line(
                "larder: there is no pending write \(id); '\(command)' lists all pending writes")
        }
        if json {
            output.line([
                "cancelled": .array(cancelled.map(report)),
                "missing": .array(missing.map { .integer($0) }),
            ])
        } else {
            for write in cancelled {
                output.line("cancelled write \(write.id): \(text(write))")
            }
        }
    }
}

/// The options of commands that list, retry and discard dead letters.
struct DeadLetterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Retry this write (may be repeated).", valueName: "number"))
    var retry: [Int64] = []

    @Option(help: ArgumentHelp("Discard this write (may be repeated).", valueName: "number"))
    var discard: [Int64] = []

    mutating func validate() throws {
        if let both = retry.first(where: discard.contains) {
            throw ValidationError("--retry and --discard both contain \(both).")
        }
    }

    /// True to list dead letters only.
    var isEmpty: Bool { retry.isEmpty && discard.isEmpty }
}

/// The result of retrying and discarding dead letters.
struct DeadLetterOutcome {
    private var retried: [(id: Int64, newID: Int64)] = []
    private var discarded: [Int64] = []
    private(set) var missing: [Int64] = []

    /// Retries and discards dead letters.
    ///
    /// - Parameters:
    ///   - onRetry: retries one and returns the ID of the new write; nil if it does not exist.
    ///   - onDiscard: discards one; false if it does not exist.
    init(
        _ options: DeadLetterOptions,
        onRetry: (Int64) async throws -> Int64?, onDiscard: (Int64) async throws -> Bool
    ) async throws {
        for id in options.retry {
            if let newID = try await onRetry(id) {
                retried.append((id, newID))
            } else {
                missing.append(id)
            }
        }
        for id in options.discard {
            if try await onDiscard(id) { discarded.append(id) } else { missing.append(id) }
        }
    }

    /// Prints the result.
    ///
    /// - Parameter command: the command that lists all dead letters.
    func print(to output: Output, json: Bool, command: String) {
        for id in missing {
            Messages.line(
                "larder: there is no dead letter \(id); '\(command)' lists all dead letters")
        }
        if json {
            output.line([
                "retried": .array(
                    retried.map { ["deadLetter": .integer($0.id), "write": .integer($0.newID)] }),
                "discarded": .array(discarded.map { .integer($0) }),
                "missing": .array(missing.map { .integer($0) }),
            ])
        } else {
            for (id, newID) in retried {
                output.line("dead letter \(id) is pending again as write \(newID)")
            }
            for id in discarded { output.line("discarded dead letter \(id)") }
        }
    }
}
