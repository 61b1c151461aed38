import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// A batch of a user's queue; nil when there is none of that id.
    public func mutationBatch(_ id: Int64, of user: UserID) throws(LarderError) -> MutationBatch? {
        var batch = larder_batch()
        let status = try call { failure in
            withBytes(user.string) {
                larder_mutation_get(snapshot.reader, $0, id, &batch, failure)
            }
        }
        return status == .ok ? try MutationBatch(batch) : nil
    }

    /// The first batch of a user's queue with an id above the given one; nil at its end.
    ///
    /// 0 gives the head of the queue.
    public func nextMutationBatch(after id: Int64 = 0, of user: UserID)
        throws(LarderError) -> MutationBatch?
    {
        var batch = larder_batch()
        let status = try call { failure in
            withBytes(user.string) {
                larder_mutation_next(snapshot.reader, $0, id, &batch, failure)
            }
        }
        return status == .ok ? try MutationBatch(batch) : nil
    }

    /// All batches of a user's queue, in order.
    public func mutationBatches(of user: UserID) throws(LarderError) -> [MutationBatch] {
        var batches: [MutationBatch] = []
        while let batch = try nextMutationBatch(after: batches.last?.id ?? 0, of: user) {
            batches.append(batch)
        }
        return batches
    }

    /// The ids of a user's batches that touch a document, ascending.
    public func mutationBatchIDs(touching path: DocumentPath, of user: UserID)
        throws(LarderError) -> [Int64]
    {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(user.string) { user in
                withBytes(path.string) {
                    larder_mutation_find_document(
                        snapshot.reader, user, $0, ids, capacity, count, failure)
                }
            }
        }
    }

    /// The ids of a user's batches that touch a document directly in a collection, ascending.
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

    /// The users that have a queue, in order of their ids.
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

extension MutationBatch {
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

/// Calls a function that writes up to a capacity of numbers, again where there are more.
func filledArray<Number: FixedWidthInteger>(
    _ fill: (
        UnsafeMutablePointer<Number>, Int, UnsafeMutablePointer<Int>,
        UnsafeMutablePointer<larder_error>
    ) -> Int32
) throws(LarderError) -> [Number] {
    var capacity = 16
    while true {
        var (count, status) = (0, Int32.ok)
        var failure = larder_error()
        let numbers = [Number](unsafeUninitializedCapacity: capacity) { buffer, written in
            if let base = buffer.baseAddress {
                status = fill(base, capacity, &count, &failure)
            }
            written = status == .ok ? min(count, capacity) : 0
        }
        guard status >= 0 else { throw error(of: status, failure) }
        if count <= capacity { return numbers }
        capacity = count
    }
}
