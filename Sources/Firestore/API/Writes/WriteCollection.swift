import LarderModel
import Logging
import Synchronization

/// The writes that a batch or a transaction collects, and the first that was wrong with them.
final class WriteCollection: Sendable {
    private struct State {
        var writes: Writes
        var failure: LarderError?
        var isClosed = false
    }

    private let state: Mutex<State>
    private let firestore: Firestore

    /// What to say of a write that comes too late.
    private let lateness: String

    init(_ firestore: Firestore, lateness: String) {
        self.firestore = firestore
        self.lateness = lateness
        state = Mutex(State(writes: Writes(firestore)))
    }

    /// Adds a change of a document; an error is kept and reported at the end.
    func add(
        _ document: DocumentReference,
        _ body: (inout Writes, DocumentPath) throws(LarderError) -> Void
    ) {
        let isLate = state.withLock { state -> Bool in
            guard !state.isClosed else { return true }
            guard state.failure == nil else { return false }
            do throws(LarderError) {
                try body(&state.writes, try path(of: document))
            } catch {
                state.failure = error
            }
            return false
        }
        if isLate { firestore.logger.error("\(lateness)") }
    }

    /// Keeps an error, unless there is one.
    func fail(_ error: LarderError) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    /// Whether nothing was added yet.
    var isEmpty: Bool { state.withLock { $0.writes.mutations.isEmpty } }

    /// Whether ``close()`` was called.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The changes; nothing can be added after this.
    func close() -> Result<[Mutation], LarderError> {
        state.withLock { state in
            guard !state.isClosed else {
                return .failure(LarderError(.failedPrecondition, lateness))
            }
            state.isClosed = true
            return state.failure.map { .failure($0) } ?? .success(state.writes.mutations)
        }
    }

    /// The path of a document, which must be of the same database object.
    func path(of document: DocumentReference) throws(LarderError) -> DocumentPath {
        guard document.firestore === firestore else {
            throw .invalidArgument(
                "The document '\(document.path)' is of another Firestore object than the batch or "
                    + "transaction.")
        }
        return try document.location.get()
    }
}
