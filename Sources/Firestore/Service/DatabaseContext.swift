import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

/// The database of a call, with its names and credentials.
struct DatabaseContext: Sendable {
    let names: DatabaseNames
    let backend: Backend
    let credentials = Credentials()
    /// The call and its connection, which are charged for memory; nil for work of the server
    /// itself.
    private(set) var origin: CallOrigin?

    var id: DatabaseID { names.id }

    init(_ names: DatabaseNames, _ backend: Backend) {
        self.names = names
        self.backend = backend
    }

    /// The database as of the call of the current task.
    var ofCurrentCall: DatabaseContext {
        var context = self
        context.origin = CallOrigin.current
        return context
    }

    /// A coder of the database's messages; confined to one thread.
    func coder() -> MessageCoder {
        var limits = MessageCoder.Limits()
        limits.maxDocumentBytes = backend.maxDocumentBytes
        return MessageCoder(names, limits: limits)
    }

    /// Commits writes, in a transaction or without.
    func commit(_ mutations: [Mutation], in transaction: TransactionID? = nil)
        async throws(LarderError) -> CommitResponse
    {
        let result = await withLoopContinuation { continuation in
            commit(mutations, in: transaction) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Commits writes, in a transaction or without.
    ///
    /// - Parameter completion: called exactly once, on any thread.
    func commit(
        _ mutations: [Mutation], in transaction: TransactionID?,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        if let transaction {
            backend.commit(mutations, in: transaction, as: credentials, completion)
        } else {
            backend.commit(mutations, as: credentials, completion)
        }
    }

    /// Decodes the writes and the transaction of a request.
    func read(_ request: Google_Firestore_V1_CommitRequest, _ coder: MessageCoder)
        throws(LarderError) -> ([Mutation], TransactionID?)
    {
        (
            try coder.decode(request),
            request.transaction.isEmpty ? nil : try transaction(request.transaction)
        )
    }

    /// Commits one write and returns the resulting document.
    func write(_ mutation: Mutation) async throws(LarderError) -> Document {
        let result = await withLoopContinuation { continuation in
            backend.write(mutation, as: credentials) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    func transaction(_ bytes: Data) throws(LarderError) -> TransactionID {
        guard let id = TransactionID(bytes: [UInt8](bytes)) else {
            throw LarderError(
                .invalidArgument,
                "the transaction ID is malformed: use the bytes of BeginTransaction's response")
        }
        return id
    }

    func begin(_ options: Google_Firestore_V1_TransactionOptions, _ coder: MessageCoder)
        throws(LarderError) -> TransactionID
    {
        switch try coder.decode(options) {
        case .readWrite(retrying: let former):
            return try backend.beginTransaction(
                after: TransactionID(bytes: former), for: origin?.connection)
        case .readOnly(at: let version):
            if !version.isNone { try ReadTime.checkNotAhead(version) }
            return try backend.beginTransaction(
                readOnly: true, asOf: version, for: origin?.connection)
        }
    }
}

// MARK: - Batches

extension DatabaseContext {
    /// Commits each write by itself, in order, and returns the result of each.
    func commitEach(_ mutations: [Mutation]) async throws(LarderError) -> [MutationOutcome] {
        let outcomes = await withLoopContinuation { continuation in
            backend.commitEach(mutations, as: credentials) { continuation.resume(returning: $0) }
        }
        return try outcomes.get()
    }
}
