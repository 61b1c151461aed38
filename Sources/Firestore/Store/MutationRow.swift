import CLarder
public import LarderModel
public import LarderStorage

/// A document written by a batch of pending writes.
public struct TouchedDocument: Hashable, Sendable {
    /// The document.
    public let path: DocumentPath
    /// The version on which the write was based; ``LarderModel/SnapshotVersion/none`` for none.
    public let baseVersion: SnapshotVersion

    /// Creates the reference of a batch to a document.
    public init(path: DocumentPath, baseVersion: SnapshotVersion = .none) {
        self.path = path
        self.baseVersion = baseVersion
    }
}

/// Pending writes of one user that are sent to the backend together.
public struct MutationRow: Hashable, Sendable {
    /// The batch ID: increasing across all users and never reused.
    public let id: Int64
    /// The time of the writes, by the local clock.
    public let localWriteTime: Timestamp
    /// The documents that it writes, in the order given.
    public let documents: [TouchedDocument]
    /// The writes, in the caller's encoding.
    public let payload: [UInt8]
    /// The number of recorded attempts to send it.
    public let attemptCount: Int
    /// The time of the last attempt; nil for none.
    public let lastAttempt: Timestamp?
    /// The text of the last failure; nil for none.
    public let lastError: String?
}

/// A user of an application; each has a separate queue of pending writes and a separate local view.
public struct UserID: Sendable, CustomStringConvertible {
    /// The user ID; empty for ``unauthenticated``.
    public let string: String

    /// The user when no one is signed in.
    public static let unauthenticated = UserID("")

    /// Creates a user with an ID of at most 256 bytes.
    public init(_ string: String) {
        self.string = string
    }

    /// The user ID.
    public var description: String { string }
}

extension UserID: Hashable {
    /// True if both IDs have the same bytes.
    public static func == (left: UserID, right: UserID) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// A batch of a user's queue; nil if there is no such batch.
    public func mutationBatch(_ id: Int64, of user: UserID) throws(LarderError) -> MutationRow? {
        var batch = larder_batch()
        let status = try call { failure in
            withBytes(user.string) {
                larder_mutation_get(snapshot.reader, $0, id, &batch, failure)
            }
        }
        return status == .ok ? try MutationRow(batch) : nil
    }

    /// The first batch of a user's queue with an ID above the given one; nil at the end of the
    /// queue.
    ///
    /// 0 returns the head of the queue.
    public func nextMutationBatch(after id: Int64 = 0, of user: UserID)
        throws(LarderError) -> MutationRow?
    {
        var batch = larder_batch()
        let status = try call { failure in
            withBytes(user.string) {
                larder_mutation_next(snapshot.reader, $0, id, &batch, failure)
            }
        }
        return status == .ok ? try MutationRow(batch) : nil
    }

    /// All batches of a user's queue, in order.
    public func mutationBatches(of user: UserID) throws(LarderError) -> [MutationRow] {
        var batches: [MutationRow] = []
        while let batch = try nextMutationBatch(after: batches.last?.id ?? 0, of: user) {
            batches.append(batch)
        }
        return batches
    }

    /// The ID of the first of a user's batches above the given one that writes a document; nil for
    /// none.
    ///
    /// 0 starts from the head of the queue.
    public func nextMutationBatchID(
        touching path: DocumentPath, after id: Int64 = 0, of user: UserID
    ) throws(LarderError) -> Int64? {
        var next: Int64 = 0
        let status = try call { failure in
            withBytes(user.string) { user in
                withBytes(path.string) {
                    larder_mutation_next_touching(snapshot.reader, user, $0, id, &next, failure)
                }
            }
        }
        return status == .ok ? next : nil
    }

    /// The IDs of a user's batches that write a document directly in a collection, ascending.
    public func mutationBatchIDs(touchingDocumentsIn path: CollectionPath, of user: UserID)
        throws(LarderError) -> [Int64]
    {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(user.string) { user in
                withBytes(path.string) {
                    larder_mutation_find_collection(
                        snapshot.reader, user, $0, ids, capacity, count, failure)
                }
            }
        }
    }

    /// The number of batches in a user's queue.
    ///
    /// Constant time.
    public func mutationBatchCount(of user: UserID) throws(LarderError) -> Int64 {
        var count: Int64 = 0
        try call { failure in
            withBytes(user.string) {
                larder_mutation_count(snapshot.reader, $0, &count, failure)
            }
        }
        return count
    }

    /// The users that have a queue, in order of their IDs.
    public func usersWithMutations() throws(LarderError) -> [UserID] {
        var users: [UserID] = []
        while true {
            var next = larder_bytes()
            let status = try call { failure in
                guard let last = users.last else {
                    return larder_mutation_next_user(snapshot.reader, nil, &next, failure)
                }
                return withBytes(last.string) {
                    var after = $0
                    return larder_mutation_next_user(snapshot.reader, &after, &next, failure)
                }
            }
            guard status == .ok else { return users }
            users.append(UserID(next.text))
        }
    }
}

extension MutationRow {
    fileprivate init(_ batch: larder_batch) throws(LarderError) {
        var batch = batch
        var documents: [TouchedDocument] = []
        documents.reserveCapacity(Int(batch.document_count))
        for position in 0..<Int(batch.document_count) {
            var document = larder_mutation_document()
            let status = larder_batch_get_document(&batch, position, &document)
            guard status == .ok else { throw LarderError(status: status) }
            documents.append(
                TouchedDocument(
                    path: DocumentPath(unchecked: document.name.text),
                    baseVersion: document.base_version.version))
        }
        let lastError = batch.last_error.text
        self.init(
            id: batch.batch_id, localWriteTime: batch.local_write_time.timestamp,
            documents: documents, payload: batch.payload.array,
            attemptCount: Int(batch.attempt_count),
            lastAttempt: batch.last_attempt.knownTimestamp,
            lastError: lastError.isEmpty ? nil : lastError)
    }
}

extension WriteTransaction {
    /// Appends a batch of pending writes to a user's queue.
    ///
    /// - Parameters:
    ///   - payload: the writes, in the caller's encoding; at most 64 MiB.
    ///   - documents: the documents written, with the versions on which the writes are based.
    ///   - localWriteTime: the time of the writes, by the local clock.
    ///   - user: the user whose queue to append to.
    /// - Returns: the batch ID.
    /// - Throws: `invalidArgument` for a user ID or a payload above its limit.
    public mutating func appendMutations(
        _ payload: [UInt8], touching documents: [TouchedDocument], localWriteTime: Timestamp,
        of user: UserID
    ) throws(LarderError) -> Int64 {
        var id: Int64 = 0
        let writer = writer
        try call { failure in
            withNames(documents.map(\.path)) { names in
                let touched = zip(documents, names).map { document, name in
                    larder_mutation_document(
                        name: name, base_version: larder_time(document.baseVersion))
                }
                return withBytes(user.string) { user in
                    withBytes(payload) {
                        larder_mutation_append(
                            writer, user, larder_time(localWriteTime), touched, touched.count, $0,
                            &id, failure)
                    }
                }
            }
        }
        return id
    }

    /// Removes a batch from a user's queue: acknowledged, rejected or cancelled.
    ///
    /// - Returns: true if it existed.
    @discardableResult
    public mutating func removeMutationBatch(_ id: Int64, of user: UserID)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(user.string) { larder_mutation_remove(writer, $0, id, failure) }
        }
        return status == .ok
    }

    /// Records an attempt to send a batch, with the error message if it failed.
    ///
    /// - Parameters:
    ///   - id: the batch.
    ///   - user: the user in whose queue the batch is.
    ///   - time: the time of the attempt.
    ///   - failureText: the error message, truncated to 1 KiB; nil if the attempt has not failed.
    /// - Returns: true if the batch exists.
    @discardableResult
    public mutating func recordAttempt(
        toSend id: Int64, of user: UserID, at time: Timestamp, failure failureText: String? = nil
    ) throws(LarderError) -> Bool {
        let status = try call { failure in
            withBytes(user.string) { user in
                withBytes(failureText ?? "") {
                    larder_mutation_record_attempt(
                        writer, user, id, larder_time(time), $0, failure)
                }
            }
        }
        return status == .ok
    }
}
