import CLarder
public import LarderModel

extension WriteTransaction {
    /// Puts a batch of pending writes at the end of a user's queue.
    ///
    /// - Parameters:
    ///   - payload: the writes, in the caller's encoding; at most 64 MiB.
    ///   - documents: every document that they touch, with the version they are based on.
    ///   - localWriteTime: when they were made, by the local clock.
    ///   - user: whose queue.
    /// - Returns: the batch's id.
    /// - Throws: `invalidArgument` for a user id or a payload beyond its limit.
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

    /// Takes a batch out of a user's queue: acknowledged, rejected or cancelled.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    public mutating func removeMutationBatch(_ id: Int64, of user: UserID)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(user.string) { larder_mutation_remove(writer, $0, id, failure) }
        }
        return status == .ok
    }

    /// Counts an attempt to send a batch, and keeps the text of its failure.
    ///
    /// - Parameters:
    ///   - id: the batch.
    ///   - user: whose queue it is in.
    ///   - time: when it was sent.
    ///   - failureText: what went wrong, cut at 1 KiB; nil for nothing so far.
    /// - Returns: whether the batch is there.
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
