import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf
import Synchronization

/// A database while a call is about it.
struct DatabaseContext: Sendable {
    /// The database, and what names of it begin with.
    let names: DatabaseNames
    /// Its documents.
    let backend: Backend
    /// As whom the backend is asked.
    let credentials = Credentials()

    /// The database.
    var id: DatabaseID { names.id }

    init(_ names: DatabaseNames, _ backend: Backend) {
        self.names = names
        self.backend = backend
    }

    /// A coder of the database's messages, for one thread.
    func coder() -> MessageCoder { MessageCoder(names) }

    /// Makes changes, in a transaction or not.
    func commit(_ mutations: [Mutation], in transaction: TransactionID? = nil)
        async throws(LarderError) -> CommitResponse
    {
        let result = await withLoopContinuation { continuation in
            commit(mutations, in: transaction) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Makes changes, in a transaction or not.
    ///
    /// - Parameter completion: hears once what comes of it, on any thread.
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

    /// What a request asks to be changed, and in which transaction.
    func read(_ request: Google_Firestore_V1_CommitRequest, _ coder: MessageCoder)
        throws(LarderError) -> ([Mutation], TransactionID?)
    {
        (
            try coder.decode(request),
            request.transaction.isEmpty ? nil : try transaction(request.transaction)
        )
    }

    /// Makes one change, and gives the document as that has left it.
    func write(_ mutation: Mutation) async throws(LarderError) -> Document {
        let result = await withLoopContinuation { continuation in
            backend.write(mutation, as: credentials) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The transaction of the bytes that a client was given.
    func transaction(_ bytes: Data) throws(LarderError) -> TransactionID {
        guard let id = TransactionID(bytes: [UInt8](bytes)) else {
            throw LarderError(.invalidArgument, "the bytes name no transaction")
        }
        return id
    }

    /// Opens a transaction.
    func begin(_ options: Google_Firestore_V1_TransactionOptions, _ coder: MessageCoder)
        throws(LarderError) -> TransactionID
    {
        switch try coder.decode(options) {
        case .readWrite: return try backend.beginTransaction()
        case .readOnly(at: let version):
            if !version.isNone { try ReadTime.checkNotAhead(version) }
            return try backend.beginTransaction(readOnly: true, asOf: version)
        }
    }
}

// MARK: - Batches

extension DatabaseContext {
    /// Makes changes each by itself, in their order, and gives what came of each.
    func commitEach(_ mutations: [Mutation]) async -> [Result<CommitResponse, LarderError>] {
        guard !mutations.isEmpty else { return [] }
        return await withLoopContinuation { continuation in
            let outcomes = Outcomes(count: mutations.count) { continuation.resume(returning: $0) }
            for (position, mutation) in mutations.enumerated() {
                backend.commit([mutation], as: credentials) { outcomes.set($0, at: position) }
            }
        }
    }
}

/// Gathers what came of several commits.
private final class Outcomes: Sendable {
    typealias Outcome = Result<CommitResponse, LarderError>

    private let state: Mutex<(outcomes: [Outcome?], left: Int)>
    private let completion: @Sendable ([Outcome]) -> Void

    init(count: Int, _ completion: @escaping @Sendable ([Outcome]) -> Void) {
        state = Mutex((Array(repeating: nil, count: count), count))
        self.completion = completion
    }

    func set(_ outcome: Outcome, at position: Int) {
        let all = state.withLock { state -> [Outcome]? in
            state.outcomes[position] = outcome
            state.left -= 1
            return state.left == 0 ? state.outcomes.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}
