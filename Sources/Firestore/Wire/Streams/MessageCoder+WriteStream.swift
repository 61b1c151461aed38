import Foundation
package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// What a client tells a Write stream.
    ///
    /// - Throws: as ``encode(_:)-(Mutation)``.
    package func encode(_ request: WriteRequest)
        throws(LarderError) -> Google_Firestore_V1_WriteRequest
    {
        var message = Google_Firestore_V1_WriteRequest()
        switch request {
        case .handshake: message.database = "\(database)"
        case .write(let mutations, let streamToken):
            message.writes = try encode(mutations)
            message.streamToken = Data(streamToken)
        }
        return message
    }

    /// What a Write stream is told.
    ///
    /// - Parameter isFirst: whether it is the first request of its stream.
    /// - Throws: `invalidArgument` for a first request with writes or of another database, and
    ///   as ``decode(_:)-(Google_Firestore_V1_Write)``; `unimplemented` for a stream that goes on
    ///   where another ended.
    package func decode(_ request: Google_Firestore_V1_WriteRequest, isFirst: Bool)
        throws(LarderError) -> WriteRequest
    {
        try check(database: request.database)
        guard isFirst else {
            guard request.streamToken.count <= limits.maxTokenBytes else {
                throw .invalidArgument("a stream token has \(request.streamToken.count) bytes")
            }
            return .write(
                try decode(request.writes), streamToken: [UInt8](request.streamToken))
        }
        guard !request.database.isEmpty, request.writes.isEmpty else {
            throw .invalidArgument("the first request of a stream names its database and no more")
        }
        guard request.streamID.isEmpty else {
            throw .unimplemented("a stream of writes that goes on where another ended")
        }
        return .handshake
    }

    /// The answer to the first request of a Write stream.
    package func encode(handshake streamToken: [UInt8], streamID: String)
        -> Google_Firestore_V1_WriteResponse
    {
        var message = Google_Firestore_V1_WriteResponse()
        message.streamID = streamID
        message.streamToken = Data(streamToken)
        return message
    }

    /// The answer to writes of a Write stream.
    ///
    /// - Parameter mutations: what was committed: deletes are answered without a time.
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

    /// What a Write stream answers.
    ///
    /// - Parameter isFirst: whether it is the first answer of its stream.
    /// - Throws: `internal` for an answer to writes without a time, and for what breaks a bound.
    package func decode(_ response: Google_Firestore_V1_WriteResponse, isFirst: Bool)
        throws(LarderError) -> WriteEvent
    {
        try answer { () throws(LarderError) in
            guard response.streamToken.count <= limits.maxTokenBytes else {
                throw .invalidArgument("a stream token has \(response.streamToken.count) bytes")
            }
            let token = [UInt8](response.streamToken)
            if isFirst { return .handshake(streamToken: token) }
            guard response.hasCommitTime else { throw .invalidArgument("a commit has no time") }
            let version = try SnapshotVersion(response.commitTime)
            let results = try decode(response.writeResults, at: version)
            return .committed(
                CommitResponse(commitVersion: version, results: results), streamToken: token)
        }
    }
}
