import LarderModel
import LarderRemote

/// A commit that somebody asks for.
struct CommitRequest {
    /// What is to be done, together or not at all.
    let mutations: [Mutation]
    /// Asks the rules; nil for what the backend does itself.
    let gate: Gate?
    /// What must be as it was read; nil for a commit that rests on nothing.
    var reads: ReadSet?
    /// The stream that the commit came through, if any: once it has ended its commits are not
    /// made.
    var stream: WriteSession?
    /// Told what came of it.
    let completion: (Result<MadeCommit, LarderError>) -> Void

    /// Whether the commit rests on what queries have found.
    var hasReadQueries: Bool { reads?.hasQueries ?? false }

    /// How large a request may be, in bytes.
    static let maxBytes: Int64 = 10 << 20

    /// Throws `invalidArgument` unless a backend takes the request, whatever its documents are.
    func checkAcceptable() throws(LarderError) {
        var size: Int64 = 0
        var writes: [DocumentPath: DocumentWrites] = [:]
        for mutation in mutations {
            try mutation.checkAcceptable()
            // A single mutation has none before it.
            if mutations.count > 1 { try writes[mutation.path].add(mutation) }
            size += mutation.sizeBytes
        }
        guard size <= Self.maxBytes else {
            throw .invalidArgument(
                "a commit of \(size) bytes; \(Self.maxBytes) are allowed")
        }
    }
}
