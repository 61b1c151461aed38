import LarderModel
import Logging
import Synchronization

/// The changes of one write, batch or transaction, in order.
struct Writes: Sendable {
    private(set) var mutations: [Mutation] = []
    private let reader: UserDataReader

    init(_ firestore: Firestore) {
        reader = UserDataReader(
            databaseID: firestore.databaseID, maxDocumentBytes: firestore.maxDocumentBytes)
    }

    mutating func set(
        _ data: [String: Any], at path: DocumentPath, merge: Bool,
        _ condition: WriteCondition? = nil
    ) throws(LarderError) {
        let precondition = condition?.precondition ?? .none
        mutations.append(
            merge
                ? try reader.mergeSet(data, at: path, precondition: precondition)
                : try reader.set(data, at: path, precondition: precondition))
    }

    mutating func set(
        _ data: [String: Any], at path: DocumentPath, mergeFields: [Any]
    ) throws(LarderError) {
        mutations.append(try reader.mergeSet(data, mergeFields: mergeFields, at: path))
    }

    mutating func update(
        _ fields: [AnyHashable: Any], at path: DocumentPath, _ condition: WriteCondition = .exists
    ) throws(LarderError) {
        mutations.append(
            try reader.update(fields, at: path, precondition: condition.precondition))
    }

    mutating func delete(_ path: DocumentPath, _ condition: WriteCondition? = nil) {
        mutations.append(
            Mutation(.delete, at: path, precondition: condition?.precondition ?? .none))
    }
}

/// The writes collected by a batch or a transaction, with the first error among them.
final class WriteCollection: Sendable {
    private struct State {
        var writes: Writes
        var failure: LarderError?
        var isClosed = false
    }

    private let state: Mutex<State>
    private let firestore: Firestore

    /// The error message for a write after ``close()``.
    private let lateness: String

    init(_ firestore: Firestore, lateness: String) {
        self.firestore = firestore
        self.lateness = lateness
        state = Mutex(State(writes: Writes(firestore)))
    }

    /// Adds a change of a document; the first error is kept for ``close()``.
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

    /// Keeps an error unless there already is one.
    func fail(_ error: LarderError) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    var isEmpty: Bool { state.withLock { $0.writes.mutations.isEmpty } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Closes the collection and returns the changes or the first error.
    func close() -> Result<[Mutation], LarderError> {
        state.withLock { state in
            guard !state.isClosed else {
                return .failure(LarderError(.failedPrecondition, lateness))
            }
            state.isClosed = true
            return state.failure.map { .failure($0) } ?? .success(state.writes.mutations)
        }
    }

    /// The path of a document, which must belong to the same `Firestore` object.
    func path(of document: DocumentReference) throws(LarderError) -> DocumentPath {
        guard document.firestore === firestore else {
            throw .invalidArgument(
                "The document '\(document.path)' belongs to another Firestore object than the batch or "
                    + "transaction.")
        }
        return try document.location.get()
    }
}
