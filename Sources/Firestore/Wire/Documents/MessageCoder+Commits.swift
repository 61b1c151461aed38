package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// A request for changes together, outside of a transaction.
    ///
    /// - Throws: as ``encode(_:)-(Mutation)``.
    package func encode(committing mutations: [Mutation])
        throws(LarderError) -> Google_Firestore_V1_CommitRequest
    {
        var message = Google_Firestore_V1_CommitRequest()
        message.database = "\(database)"
        message.writes = try encode(mutations)
        return message
    }

    /// The changes that a request asks for.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Write)``.
    package func decode(_ request: Google_Firestore_V1_CommitRequest)
        throws(LarderError) -> [Mutation]
    {
        try check(database: request.database)
        return try decode(request.writes)
    }

    /// The answer to a commit.
    ///
    /// - Parameter mutations: what was committed: deletes are answered without a time.
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(_ response: CommitResponse, of mutations: [Mutation])
        throws(LarderError) -> Google_Firestore_V1_CommitResponse
    {
        var message = Google_Firestore_V1_CommitResponse()
        message.commitTime = .init(response.commitVersion)
        message.writeResults = try encode(response.results, of: mutations)
        return message
    }

    /// What an answer says of a commit.
    ///
    /// - Throws: `internal` for an answer without a time, and for what breaks a bound.
    package func decode(_ response: Google_Firestore_V1_CommitResponse)
        throws(LarderError) -> CommitResponse
    {
        try answer { () throws(LarderError) in
            guard response.hasCommitTime else { throw .invalidArgument("a commit has no time") }
            let version = try SnapshotVersion(response.commitTime)
            return CommitResponse(
                commitVersion: version, results: try decode(response.writeResults, at: version))
        }
    }

    /// What changes did, in order.
    func encode(_ results: [MutationResult], of mutations: [Mutation])
        throws(LarderError) -> [Google_Firestore_V1_WriteResult]
    {
        var messages: [Google_Firestore_V1_WriteResult] = []
        messages.reserveCapacity(results.count)
        for (position, result) in results.enumerated() {
            var message = Google_Firestore_V1_WriteResult()
            let isDelete = position < mutations.count && mutations[position].operation == .delete
            if !isDelete { message.updateTime = .init(result.version) }
            message.transformResults = try encode(result.transformResults)
            messages.append(message)
        }
        return messages
    }

    /// What changes of a commit did, in order.
    func decode(_ messages: [Google_Firestore_V1_WriteResult], at version: SnapshotVersion)
        throws(LarderError) -> [MutationResult]
    {
        var results: [MutationResult] = []
        results.reserveCapacity(messages.count)
        for message in messages {
            results.append(
                MutationResult(
                    version: message.hasUpdateTime
                        ? try SnapshotVersion(message.updateTime) : version,
                    transformResults: try decode(message.transformResults)))
        }
        return results
    }
}
