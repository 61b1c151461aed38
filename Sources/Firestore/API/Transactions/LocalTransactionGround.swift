import Foundation
import LarderModel
import LarderSync

/// Transactions without a backend: on the local view, whose writes then are pending like others.
struct LocalTransactionGround: TransactionGround {
    let client: Client
    let gate: TransactionGate

    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        // What this object wrote before, the closure reads.
        client.afterEarlierWrites {
            gate.enter(alone: number > 1) { body(.success(())) }
        }
    }

    func leave() {
        gate.leave()
    }

    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead {
        let document = try client.document(at: path)
        let isPending = document.map { $0.exists && $0.hasLocalMutations } ?? false
        return TransactionRead(
            document: document, state: SnapshotState(hasPendingWrites: isPending))
    }

    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>
    ) {
        guard !mutations.isEmpty else {
            return done(Result { () throws(LarderError) in try check(reads) })
        }
        client.write(
            mutations,
            expectations: reads.map {
                LarderSync.PendingWrite.Expectation(path: $0.key, document: $0.value.document)
            },
            committed: { done($0.map { _ in }) },
            acknowledged: { _ in })
    }

    /// Whether what was read still holds, for a transaction that writes nothing.
    ///
    /// When each document is the same in a second pass, all were so between the passes.
    private func check(_ reads: [DocumentPath: TransactionRead]) throws(LarderError) {
        guard reads.count > 1 else { return }
        for (path, read) in reads where try client.document(at: path) != read.document {
            throw LarderError(
                .aborted, "The document '\(path)' was changed while the transaction ran.")
        }
    }

    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool {
        !isOfClosure && (error as? LarderError)?.kind == .aborted
    }
}
