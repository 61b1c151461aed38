import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    func beginTransaction(_ request: Google_Firestore_V1_BeginTransactionRequest)
        async throws(LarderError) -> Google_Firestore_V1_BeginTransactionResponse
    {
        let database = try await database(request.database)
        var response = Google_Firestore_V1_BeginTransactionResponse()
        response.transaction = Data(try database.begin(request.options, database.coder()).bytes)
        return response
    }

    /// Commits writes atomically, with or without a transaction.
    func commit(_ request: Google_Firestore_V1_CommitRequest)
        async throws(LarderError) -> Google_Firestore_V1_CommitResponse
    {
        let database = try await database(request.database)
        let coder = database.coder()
        let (mutations, transaction) = try database.read(request, coder)
        let response = try await database.commit(mutations, in: transaction)
        return try coder.encode(response, of: mutations)
    }

    /// Begins the commit of an encoded request on an open database.
    ///
    /// - Returns: false, without effect, if the database is not open or the request is malformed.
    func beginCommit(_ bytes: [UInt8], _ reply: @escaping RequestMethod.Reply)
        throws(LarderError) -> Bool
    {
        guard let name = MessageCoder.database(ofCommit: bytes),
            let database = try openDatabase(name)
        else { return false }
        let coder = database.coder()
        let (mutations, transaction): ([Mutation], TransactionID?)
        if let sets = coder.fastPathWrites(commit: bytes) {
            (mutations, transaction) = (sets, nil)
        } else if let request = try? Google_Firestore_V1_CommitRequest(serializedBytes: bytes) {
            (mutations, transaction) = try database.read(request, coder)
        } else {
            return false
        }
        database.commit(mutations, in: transaction) { result in
            reply {
                let answer = try database.coder().encode(
                    commitResponse: try result.get(), of: mutations)
                return [try answer.serializedBytes()]
            }
        }
        return true
    }

    /// Ends a transaction without writes; an ended transaction is no error.
    ///
    /// Clients roll back after any failure, including a refused commit.
    func rollBack(_ request: Google_Firestore_V1_RollbackRequest)
        async throws(LarderError) -> Google_Protobuf_Empty
    {
        let database = try await readableDatabase(request.database)
        let transaction = try database.transaction(request.transaction)
        do throws(LarderError) {
            try database.backend.rollBack(transaction)
        } catch  where error.kind == .invalidArgument {
            return Google_Protobuf_Empty()
        }
        return Google_Protobuf_Empty()
    }
}

// MARK: - Batches

extension FirestoreService {
    /// Commits each write by itself and reports the result of each.
    ///
    /// Writes are committed in order and share disk flushes.
    func batchWrite(_ request: Google_Firestore_V1_BatchWriteRequest)
        async throws(LarderError) -> Google_Firestore_V1_BatchWriteResponse
    {
        let database = try await database(request.database)
        let decoded = try await readers.run { () throws(LarderError) in
            try Self.mutations(of: request, database)
        }
        let outcomes = try await database.commitEach(decoded.compactMap { try? $0.get() })
        var next = outcomes.makeIterator()
        let coder = database.coder()
        var response = Google_Firestore_V1_BatchWriteResponse()
        for decoded in decoded {
            var result = Google_Firestore_V1_WriteResult()
            var status = Google_Rpc_Status.ok
            do throws(LarderError) {
                let mutation = try decoded.get()
                if let outcome = try next.next()?.get() {
                    let commit = CommitResponse(
                        commitVersion: outcome.version, results: [outcome])
                    result = try coder.encode(commit, of: [mutation]).writeResults.first ?? result
                }
            } catch {
                status = Google_Rpc_Status(error)
            }
            response.writeResults.append(result)
            response.status.append(status)
        }
        return response
    }

    /// The writes of a request; a malformed one fails alone.
    ///
    /// - Throws: `invalidArgument` for two writes of one document.
    private static func mutations(
        of request: Google_Firestore_V1_BatchWriteRequest, _ database: DatabaseContext
    ) throws(LarderError) -> [Result<Mutation, LarderError>] {
        let coder = database.coder()
        var paths: Set<DocumentPath> = []
        var mutations: [Result<Mutation, LarderError>] = []
        for write in request.writes {
            let mutation = Result { () throws(LarderError) in try coder.decode(write) }
            if case .success(let mutation) = mutation, !paths.insert(mutation.path).inserted {
                throw .invalidArgument(
                    "the same document cannot be written more than once in a single request: "
                        + "'\(mutation.path)'")
            }
            mutations.append(mutation)
        }
        return mutations
    }
}
