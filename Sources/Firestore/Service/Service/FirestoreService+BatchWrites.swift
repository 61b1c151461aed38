import LarderModel
import LarderRemote
import LarderWire

extension FirestoreService {
    /// Makes changes each by itself; what came of each is told in the answer.
    ///
    /// They are made in their order, and share flushes of the disk.
    func batchWrite(_ request: Google_Firestore_V1_BatchWriteRequest)
        async throws(LarderError) -> Google_Firestore_V1_BatchWriteResponse
    {
        let session = try await session(request.database)
        let decoded = try await readers.run { () throws(LarderError) in
            try Self.mutations(of: request, session)
        }
        let outcomes = await session.commitEach(decoded.compactMap { try? $0.get() })
        var next = outcomes.makeIterator()
        let coder = session.coder()
        var response = Google_Firestore_V1_BatchWriteResponse()
        for decoded in decoded {
            var result = Google_Firestore_V1_WriteResult()
            var status = Google_Rpc_Status.ok
            do throws(LarderError) {
                let mutation = try decoded.get()
                if let commit = try next.next()?.get() {
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

    /// The changes of a request; one that cannot be read fails alone.
    ///
    /// - Throws: `invalidArgument` where two changes are of one document.
    private static func mutations(
        of request: Google_Firestore_V1_BatchWriteRequest, _ session: Session
    ) throws(LarderError) -> [Result<Mutation, LarderError>] {
        let coder = session.coder()
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
