import Foundation
package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// Encodes a request to commit mutations atomically outside of a transaction.
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

    /// Decodes the mutations of a request.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Write)``.
    package func decode(_ request: Google_Firestore_V1_CommitRequest)
        throws(LarderError) -> [Mutation]
    {
        try check(database: request.database)
        return try decode(request.writes)
    }

    /// Encodes the response to a commit.
    ///
    /// - Parameter mutations: the committed mutations; the results of deletes have no time.
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(_ response: CommitResponse, of mutations: [Mutation])
        throws(LarderError) -> Google_Firestore_V1_CommitResponse
    {
        var message = Google_Firestore_V1_CommitResponse()
        message.commitTime = .init(response.commitVersion)
        message.writeResults = try encode(response.results, of: mutations)
        return message
    }

    /// Decodes the response to a commit.
    ///
    /// - Throws: `internal` for a missing commit time or invalid data.
    package func decode(_ response: Google_Firestore_V1_CommitResponse)
        throws(LarderError) -> CommitResponse
    {
        try answer { () throws(LarderError) in
            guard response.hasCommitTime else {
                throw .invalidArgument("the commit time is missing")
            }
            let version = try SnapshotVersion(response.commitTime)
            return CommitResponse(
                commitVersion: version, results: try decode(response.writeResults, at: version))
        }
    }

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

    func decode(_ messages: [Google_Firestore_V1_WriteResult], at version: SnapshotVersion)
        throws(LarderError) -> [MutationResult]
    {
        try messages.map { message throws(LarderError) in
            MutationResult(
                version: message.hasUpdateTime ? try SnapshotVersion(message.updateTime) : version,
                transformResults: try decode(message.transformResults))
        }
    }
}

// MARK: - Write streams

extension MessageCoder {
    /// Encodes a request of a Write stream.
    ///
    /// - Throws: as ``encode(_:)-(Mutation)``.
    package func encode(_ request: WriteRequest)
        throws(LarderError) -> Google_Firestore_V1_WriteRequest
    {
        var message = Google_Firestore_V1_WriteRequest()
        switch request {
        case .handshake: message.database = "\(database)"
        case .write(let mutations, let streamToken, let name):
            message.writes = try encode(mutations)
            message.streamToken = Data(streamToken)
            if let name { message.labels = name.labels }
        }
        return message
    }

    /// Decodes a request of a Write stream.
    ///
    /// - Parameter isFirst: whether it is the first request of its stream.
    /// - Throws: `invalidArgument` for a first request with writes or of another database, for a
    ///   name that is not valid, and as ``decode(_:)-(Google_Firestore_V1_Write)``; `unimplemented` for the continuation of an
    ///   earlier stream.
    package func decode(_ request: Google_Firestore_V1_WriteRequest, isFirst: Bool)
        throws(LarderError) -> WriteRequest
    {
        try check(database: request.database)
        guard isFirst else {
            guard request.streamToken.count <= limits.maxTokenBytes else {
                throw .invalidArgument("a stream token has \(request.streamToken.count) bytes")
            }
            return .write(
                try decode(request.writes), streamToken: [UInt8](request.streamToken),
                once: try WriteToken(labels: request.labels))
        }
        guard !request.database.isEmpty, request.writes.isEmpty else {
            throw .invalidArgument(
                "the first request of a write stream must contain only the database")
        }
        guard request.streamID.isEmpty else {
            throw .unimplemented("the continuation of an earlier write stream")
        }
        return .handshake
    }

    /// The ID of the write streams of servers that commit each named write once.
    private static let namesStreamID = "larder-once-1"

    /// Encodes the response to the first request of a Write stream.
    package func encode(handshake streamToken: [UInt8], keepsNames: Bool)
        -> Google_Firestore_V1_WriteResponse
    {
        var message = Google_Firestore_V1_WriteResponse()
        if keepsNames { message.streamID = Self.namesStreamID }
        message.streamToken = Data(streamToken)
        return message
    }

    /// Encodes the response to writes of a Write stream.
    ///
    /// - Parameter mutations: the committed mutations; the results of deletes have no time.
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(
        _ response: CommitResponse, of mutations: [Mutation], streamToken: [UInt8]
    ) throws(LarderError) -> Google_Firestore_V1_WriteResponse {
        var message = Google_Firestore_V1_WriteResponse()
        message.streamToken = Data(streamToken)
        message.commitTime = .init(response.commitVersion)
        message.writeResults = try encode(response.results, of: mutations)
        return message
    }

    /// Decodes a response of a Write stream.
    ///
    /// - Parameter isFirst: whether it is the first response of its stream.
    /// - Throws: `internal` for a missing commit time or invalid data.
    package func decode(_ response: Google_Firestore_V1_WriteResponse, isFirst: Bool)
        throws(LarderError) -> WriteEvent
    {
        try answer { () throws(LarderError) in
            guard response.streamToken.count <= limits.maxTokenBytes else {
                throw .invalidArgument("a stream token has \(response.streamToken.count) bytes")
            }
            let token = [UInt8](response.streamToken)
            if isFirst {
                let keepsNames = response.streamID == Self.namesStreamID
                return .handshake(streamToken: token, keepsNames: keepsNames)
            }
            guard response.hasCommitTime else {
                throw .invalidArgument("the commit time is missing")
            }
            let version = try SnapshotVersion(response.commitTime)
            let results = try decode(response.writeResults, at: version)
            return .committed(
                CommitResponse(commitVersion: version, results: results), streamToken: token)
        }
    }
}

/// The name of a write in the labels of its request.
extension WriteToken {
    private static let clientLabel = "larder-client"
    private static let writeLabel = "larder-write"
    private static let answeredLabel = "larder-answered"
    private static let writerLabel = "larder-writer"
    private static let formerLabel = "larder-former"

    fileprivate var labels: [String: String] {
        var labels = [Self.clientLabel: client, Self.writeLabel: write]
        labels[Self.answeredLabel] = Self.list(answered)
        labels[Self.writerLabel] = writer
        labels[Self.formerLabel] = Self.list(former)
        return labels
    }

    /// The name in the labels of a request; nil if there is none.
    ///
    /// - Throws: `invalidArgument` for a name that is not valid.
    fileprivate init?(labels: [String: String]) throws(LarderError) {
        guard let client = labels[Self.clientLabel], let write = labels[Self.writeLabel] else {
            return nil
        }
        self.init(
            client: client, write: write, answered: Self.names(labels[Self.answeredLabel]),
            writer: labels[Self.writerLabel], former: Self.names(labels[Self.formerLabel]))
        guard isValid else {
            throw .invalidArgument("the labels of a write have a name that is not valid")
        }
    }

    /// The text of names; nil for none.
    private static func list(_ names: [String]) -> String? {
        names.isEmpty ? nil : names.joined(separator: "_")
    }

    private static func names(_ text: String?) -> [String] {
        text?.split(separator: "_").map(String.init) ?? []
    }
}

// MARK: - Transactions

/// The access mode of a transaction.
package enum TransactionMode: Sendable, Equatable {
    /// Reads and writes; carries the ID of the attempt that it repeats, empty for none.
    case readWrite(retrying: [UInt8])
    /// Reads only, at a read time; none for now.
    case readOnly(at: SnapshotVersion)
}

extension MessageCoder {
    package func encode(_ mode: TransactionMode) -> Google_Firestore_V1_TransactionOptions {
        var message = Google_Firestore_V1_TransactionOptions()
        switch mode {
        case .readWrite(let transaction):
            message.readWrite.retryTransaction = .init(transaction)
        case .readOnly(let version):
            message.readOnly = .init()
            if !version.isNone { message.readOnly.readTime = .init(version) }
        }
        return message
    }

    /// Decodes an access mode; reads and writes by default.
    ///
    /// - Throws: `invalidArgument` for a time out of range.
    package func decode(_ options: Google_Firestore_V1_TransactionOptions)
        throws(LarderError) -> TransactionMode
    {
        switch options.mode {
        case nil: return .readWrite(retrying: [])
        case .readWrite(let mode): return .readWrite(retrying: [UInt8](mode.retryTransaction))
        case .readOnly(let mode):
            guard case .readTime(let time)? = mode.consistencySelector else {
                return .readOnly(at: .none)
            }
            return .readOnly(at: try SnapshotVersion(time))
        }
    }
}
