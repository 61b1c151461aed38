package import LarderDocumentStore
package import LarderModel

extension LocalStore {
    /// - Parameters:
    ///   - batchID: the lower bound of the batches, exclusive.
    ///   - limit: the maximum number.
    /// - Throws: `dataLoss` for a damaged dead letter.
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

    /// Removes dead letters; unknown ones are ignored.
    ///
    /// - Returns: the number removed.
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

    /// Appends the mutations of a dead letter to the queue as a new batch, in one commit.
    package func retryDeadLetter(_ batchID: Int64, localWriteTime: Timestamp)
        throws(LarderError) -> (id: Int64, changes: [LocalChange])?
    {
        try retryDeadLetter(batchID, localWriteTime: localWriteTime, obeying: CacheRules())
    }

    /// Applies the write of a dead letter once more, in one commit: appends it to the queue as a new
    /// batch, or makes it at once if its documents are local only.
    ///
    /// - Parameters:
    ///   - batchID: the id of the rejected batch.
    ///   - localWriteTime: the present time, by the local clock.
    ///   - rules: the cache rules, which say what is local only.
    /// - Returns: the new batch, with the id 0 if it was not queued; nil for an unknown dead letter.
    /// - Throws: the reason why the write is impossible; the dead letter then stays.
    func retryDeadLetter(_ batchID: Int64, localWriteTime: Timestamp, obeying rules: CacheRules)
        throws(LarderError) -> (id: Int64, changes: [LocalChange])?
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        let name = DeadLetter.name(of: batchID, of: user)
        return try commit { (transaction, shared) throws(LarderError) in
            guard let stored = try transaction.namedValue(.deadLetter, name) else { return nil }
            let letter = try DeadLetter(stored, of: user)
            try transaction.removeNamedValue(.deadLetter, name)
            let again = QueuedWrite(mutations: letter.mutations, localWriteTime: localWriteTime)
            let batch = try write(again, obeying: rules, in: &transaction, &shared, using: builder)
                .get()
            try beginRun(with: batch.id > 0 ? batch.id : nil, in: &transaction)
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

    /// The outcome of a batch of the user.
    ///
    /// Batch ids increase and are never reused: a batch that is neither in the queue nor among the
    /// dead letters has left the queue. Nothing is stored for acknowledged batches.
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

/// A batch that the backend has rejected, kept with the reason until the application retries or
/// discards it.
package struct DeadLetter: Sendable {
    package let batchID: Int64
    package let user: UserID
    /// The time of the write, by the local clock.
    package let localWriteTime: Timestamp
    package let mutations: [Mutation]
    package let error: LarderError
    /// The number of failed attempts before, sent or not.
    package let attemptCount: Int
    /// The time of the rejection, by the local clock.
    package let rejectionTime: Timestamp
}

/// The outcome of a batch.
package enum BatchOutcome: Sendable {
    case pending
    case rejected(DeadLetter)
    /// The backend has committed it, or it is unknown: cancelled, discarded or retried as a dead
    /// letter, or never queued.
    case acknowledgedOrUnknown
}

/// Dead letters as named values. The name is the user's and the batch's, so that those of a user
/// stand together and in order; the time is that of the rejection; the payload is a record:
///
///     version            1
///     code, message      why the batch was rejected
///     attempts           how often it was tried in vain
///     written            when it was written
///     batch              the batch's bytes
extension DeadLetter {
    private static let version: Int64 = 1
    /// The maximum size of a stored error message.
    private static let maxMessageBytes = 1024
    /// The largest size of a batch, so that it fits into a dead letter.
    static let maxBatchBytes = (64 << 20) - (64 << 10)

    /// The prefix of the names of a user's dead letters, and of no other user's.
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
            mutations: try MutationPayload(batch).mutations,
            error: LarderError(LarderError.Code(rawValue: Int(code)), message),
            attemptCount: Int(attempts), rejectionTime: stored.version.timestamp)
    }
}

extension WriteTransaction {
    /// Keeps a rejected batch.
    ///
    /// - Parameter time: the time of the rejection, by the local clock.
    mutating func putDeadLetter(
        _ batch: MutationRow, of user: UserID, because error: LarderError, at time: Timestamp
    ) throws(LarderError) {
        try putNamedValue(
            .deadLetter, DeadLetter.name(of: batch.id, of: user),
            DeadLetter.payload(batch, because: error), version: SnapshotVersion(time))
    }
}

extension DeadLetter {
    /// The bytes of a rejected batch.
    fileprivate static func payload(_ batch: MutationRow, because error: LarderError)
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
