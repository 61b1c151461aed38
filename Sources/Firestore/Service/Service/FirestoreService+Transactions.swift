import Foundation
import LarderBackend
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// Opens a transaction.
    func beginTransaction(_ request: Google_Firestore_V1_BeginTransactionRequest)
        async throws(LarderError) -> Google_Firestore_V1_BeginTransactionResponse
    {
        let session = try await session(request.database)
        var response = Google_Firestore_V1_BeginTransactionResponse()
        response.transaction = Data(try session.begin(request.options, session.coder()).bytes)
        return response
    }

    /// Makes changes together or not at all, at the end of a transaction or by themselves.
    func commit(_ request: Google_Firestore_V1_CommitRequest)
        async throws(LarderError) -> Google_Firestore_V1_CommitResponse
    {
        let session = try await session(request.database)
        let coder = session.coder()
        let (mutations, transaction) = try session.read(request, coder)
        let response = try await session.commit(mutations, in: transaction)
        return try coder.encode(response, of: mutations)
    }

    /// Begins to make the changes that the bytes of a request ask for in a database that is open.
    ///
    /// - Returns: false where it is not open, or the bytes are no such request.
    func beginCommit(_ bytes: [UInt8], _ tell: @escaping ShortCall.Tell<[[UInt8]]>)
        throws(LarderError) -> Bool
    {
        guard let name = MessageCoder.database(ofCommit: bytes),
            let session = try openSession(name)
        else { return false }
        let coder = session.coder()
        let (mutations, transaction): ([Mutation], TransactionID?)
        if let sets = coder.plainSets(commit: bytes) {
            (mutations, transaction) = (sets, nil)
        } else if let request = try? Google_Firestore_V1_CommitRequest(serializedBytes: bytes) {
            (mutations, transaction) = try session.read(request, coder)
        } else {
            return false
        }
        session.commit(mutations, in: transaction) { result in
            tell {
                let answer = try session.coder().encode(answer: try result.get(), of: mutations)
                return [try answer.serializedBytes()]
            }
        }
        return true
    }

    /// Ends a transaction without changes; nothing is done where it has ended already.
    ///
    /// Clients roll back whatever goes wrong, also after a commit that was refused.
    func rollBack(_ request: Google_Firestore_V1_RollbackRequest)
        async throws(LarderError) -> Google_Protobuf_Empty
    {
        let session = try await session(request.database)
        let transaction = try session.transaction(request.transaction)
        do throws(LarderError) {
            try session.backend.rollBack(transaction)
        } catch  where error.kind == .invalidArgument {
            return Google_Protobuf_Empty()
        }
        return Google_Protobuf_Empty()
    }
}
