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
        retrying retry: [Int64], discarding discard: [Int64],
        onRetry: (Int64) async throws -> Int64?, onDiscard: (Int64) async throws -> Bool
    ) async throws {
        for id in retry {
            if let newID = try await onRetry(id) {
                retried.append((id, newID))
            } else {
                missing.append(id)
            }
        }
        for id in discard {
            if try await onDiscard(id) { discarded.append(id) } else { missing.append(id) }
        }
    }

    /// Prints the result; `command` lists all dead letters.
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
