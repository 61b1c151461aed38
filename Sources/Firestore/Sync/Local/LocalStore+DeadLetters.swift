package import LarderDocumentStore
package import LarderModel

extension LocalStore {
    /// The user's dead letters, in the order of their batches.
    ///
    /// - Parameters:
    ///   - batchID: only those of later batches.
    ///   - limit: at most how many.
    /// - Throws: `dataLoss` for a damaged one.
    package func deadLetters(after batchID: Int64 = 0, limit: Int = .max)
        throws(LarderError) -> [DeadLetter]
    {
        try store.read { (transaction) throws(LarderError) in
            var letters: [DeadLetter] = []
            let stored = try transaction.namedValues(
                .deadLetter, beginningWith: DeadLetter.prefix(of: user),
                after: DeadLetter.name(of: batchID, of: user), limit: limit)
            for value in stored { letters.append(try DeadLetter(value, of: user)) }
            return letters
        }
    }

    /// Forgets dead letters; those that are not there are passed over.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func discardDeadLetters(_ batchIDs: [Int64]) throws(LarderError) -> Int {
        try store.write { (transaction) throws(LarderError) in
            var count = 0
            for id in batchIDs {
                let name = DeadLetter.name(of: id, of: user)
                if try transaction.removeNamedValue(.deadLetter, name) { count += 1 }
            }
            return count
        }
    }

    /// Puts what a dead letter holds into the queue once more, as a new batch at its end; one
    /// commit.
    ///
    /// - Parameters:
    ///   - batchID: the id that the refused batch had.
    ///   - localWriteTime: now, by the local clock.
    /// - Returns: the new batch; nil where there is no such dead letter.
    /// - Throws: what makes the write impossible; the dead letter then stays.
    package func retryDeadLetter(_ batchID: Int64, localWriteTime: Timestamp)
        throws(LarderError) -> (id: Int64, changes: [LocalViewChange])?
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        let name = DeadLetter.name(of: batchID, of: user)
        return try commit { (transaction, shared) throws(LarderError) in
            guard let stored = try transaction.namedValue(.deadLetter, name) else { return nil }
            let letter = try DeadLetter(stored, of: user)
            try transaction.removeNamedValue(.deadLetter, name)
            let write = QueuedWrite(mutations: letter.mutations, localWriteTime: localWriteTime)
            let batch = try append(write, to: &transaction, using: builder).get()
            shared?.addBatch(batch.id, changing: batch.changes)
            return batch
        }
    }

    /// Whether a batch of any user is in the queue.
    func isPending(_ batchID: Int64) throws(LarderError) -> Bool {
        try store.read { (transaction) throws(LarderError) in
            for user in try transaction.usersWithMutations() {
                if try transaction.mutationBatch(batchID, of: user) != nil { return true }
            }
            return false
        }
    }

    /// What has become of a batch of the user.
    ///
    /// Batch ids rise and are never used again, so that a batch which is neither in the queue nor
    /// among the dead letters has left the queue for good: nothing is stored for those that were
    /// acknowledged.
    package func outcome(of batchID: Int64) throws(LarderError) -> BatchOutcome {
        try store.read { (transaction) throws(LarderError) in
            if try transaction.mutationBatch(batchID, of: user) != nil { return .pending }
            let name = DeadLetter.name(of: batchID, of: user)
            guard let stored = try transaction.namedValue(.deadLetter, name) else {
                return .acknowledgedOrUnknown
            }
            return .rejected(try DeadLetter(stored, of: user))
        }
    }
}

/// A batch that the backend has refused, kept with the reason until the application has seen to
/// it.
package struct DeadLetter: Sendable {
    /// The id that the batch had in the queue.
    package let batchID: Int64
    /// Whose batch it was.
    package let user: UserID
    /// When it was written, by the local clock.
    package let localWriteTime: Timestamp
    /// What it would have done, in order.
    package let mutations: [Mutation]
    /// Why it was refused.
    package let error: LarderError
    /// The number of failed attempts before, sent or not.
    package let attemptCount: Int
    /// When it was refused, by the local clock.
    package let rejectionTime: Timestamp
}

/// What has become of a batch.
package enum BatchOutcome: Sendable {
    /// It waits for the backend.
    case pending
    /// The backend has refused it.
    case rejected(DeadLetter)
    /// The backend has committed it, or nothing is known of it: it was cancelled, its dead letter
    /// was discarded or tried again, or there never was one of that id.
    case acknowledgedOrUnknown
}

/// Dead letters as named values. The name is the user's and the batch's, so that those of a user
/// stand together and in order; the time is that of the rejection; the payload is a record:
///
///     version            1
///     code, message      why the batch was refused
///     attempts           how often it was tried in vain
///     written            when it was written
///     batch              the batch's bytes
extension DeadLetter {
    private static let version: Int64 = 1
    /// More of an error's text is not kept.
    private static let maxMessageBytes = 1024
    /// What a batch's bytes may come to, so that it fits into a dead letter.
    static let maxBatchBytes = (64 << 20) - (64 << 10)

    /// What the names of a user's dead letters begin with; no other user's do.
    static func prefix(of user: UserID) -> String {
        "\(user.string.utf8.count):\(user.string)/"
    }

    /// The name of a dead letter; in the order of the batches.
    static func name(of batchID: Int64, of user: UserID) -> String {
        let digits = String(max(batchID, 0))
        return prefix(of: user) + String(repeating: "0", count: 19 - digits.count) + digits
    }

    /// Reads a stored one.
    ///
    /// - Throws: `dataLoss` for anything that is none.
    init(_ stored: NamedValue, of user: UserID) throws(LarderError) {
        guard
            let id = Int64(stored.name.suffix(19)),
            let fields = try? Record(validating: stored.payload, maxBytes: .max).fields,
            fields["version"] == .integer(Self.version),
            case .integer(let code)? = fields["code"],
            case .string(let message)? = fields["message"],
            case .integer(let attempts)? = fields["attempts"],
            case .timestamp(let written)? = fields["written"],
            case .bytes(let batch)? = fields["batch"]
        else {
            throw LarderError(.dataLoss, "a dead letter is malformed", condition: .corrupt)
        }
        self.init(
            batchID: id, user: user, localWriteTime: written,
            mutations: try BatchContents(payload: batch).mutations,
            error: LarderError(LarderError.Code(rawValue: Int(code)), message),
            attemptCount: Int(attempts), rejectionTime: stored.version.timestamp)
    }
}

extension DeadLetter {
    /// The bytes under which a refused batch is kept.
    static func payload(_ batch: MutationBatch, because error: LarderError)
        throws(LarderError) -> [UInt8]
    {
        let message = String(decoding: error.message.utf8.prefix(maxMessageBytes), as: UTF8.self)
        return try Record([
            "version": .integer(version), "code": .integer(Int64(error.kind.rawValue)),
            "message": .string(message), "attempts": .integer(Int64(batch.attemptCount)),
            "written": .timestamp(batch.localWriteTime), "batch": .bytes(batch.payload),
        ]).bytes
    }
}
