import Foundation
import LarderModel
import LarderQuery

/// What a transaction reads from and commits to, and when its attempts run.
protocol TransactionGround: Sendable {
    /// Calls a closure when an attempt may run, on a thread that may block; ``leave()`` is to be
    /// called at the attempt's end.
    func enter(
        attempt number: Int, _ body: @escaping @Sendable (Result<Void, LarderError>) -> Void)

    /// Ends an attempt that was begun.
    func leave()

    /// Reads a document; blocks.
    func read(_ path: DocumentPath) throws(LarderError) -> TransactionRead

    /// Makes changes, if what was read still holds.
    func commit(
        _ mutations: [Mutation], on reads: [DocumentPath: TransactionRead],
        _ done: @escaping Completion<Void>)

    /// Whether an attempt that ended so is followed by another one.
    ///
    /// - Parameter isOfClosure: whether the closure gave the error.
    func isWorthRetrying(_ error: NSError, isOfClosure: Bool) -> Bool
}

/// A document as a transaction has read it.
struct TransactionRead: Sendable {
    /// What there was; nil for nothing known.
    let document: Document?
    /// What the snapshot says of itself.
    let state: SnapshotState

    /// The document, if there was one.
    var existing: Document? { document.flatMap { $0.exists ? $0 : nil } }
}
