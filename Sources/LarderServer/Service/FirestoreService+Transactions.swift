import Foundation
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport
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

    /// What the bytes of a commit ask for that only sets documents of a database that is open, as
    /// nearly all do; nil for any other.
    func plainCommit(_ bytes: [UInt8]) -> ShortCall.Work? {
        guard let name = MessageCoder.database(ofCommit: bytes),
            let session = try? openSession(name),
            let mutations = session.coder().plainSets(commit: bytes)
        else { return nil }
        let answer = { @Sendable (response: CommitResponse) throws in
            [try session.coder().encode(answer: response, of: mutations).serializedBytes()]
        }
        return ShortCall.Work { [monitor] tell in
            monitor.note(session.id)
            session.commit(mutations, in: nil) { result in tell { try answer(try result.get()) } }
            return true
        } later: {
            try answer(try await session.commit(mutations))
        }
    }

    /// Begins to make changes in a database that is open.
    func beginCommit(
        _ request: Google_Firestore_V1_CommitRequest,
        _ tell: @escaping ShortCall.Tell<Google_Firestore_V1_CommitResponse>
    ) throws(LarderError) -> Bool {
        guard let session = try openSession(request.database) else { return false }
        let (mutations, transaction) = try session.read(request, session.coder())
        session.commit(mutations, in: transaction) { result in
            tell { try session.coder().encode(try result.get(), of: mutations) }
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
