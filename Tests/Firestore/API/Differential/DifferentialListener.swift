import Foundation
import Larder
import LarderModel
import Synchronization

/// A listener whose results are put together from its changes alone.
final class DifferentialListener: Sendable {
    fileprivate struct State {
        var documents: [QueryDocumentSnapshot] = []
        var count = 0
        var violation: String?
    }

    let query: TestQuery
    let includesMetadata: Bool
    private let state = Mutex(State())
    private let first = Recorder<Bool>()
    private let registration = Mutex<(any ListenerRegistration)?>(nil)

    init(_ query: TestQuery, _ asked: Larder.Query, includesMetadata: Bool) {
        self.query = query
        self.includesMetadata = includesMetadata
        let registration = asked.addSnapshotListener(includeMetadataChanges: includesMetadata) {
            [weak self] snapshot, error in
            self?.hear(snapshot, error)
        }
        self.registration.withLock { $0 = registration }
    }

    deinit {
        remove()
    }

    func remove() {
        registration.withLock { $0 }?.remove()
    }

    /// Suspends until the first snapshot has come.
    func loaded() async { _ = await first.first(1) }

    /// The documents that the changes have led to, and what was wrong with one of them.
    var replayed: (documents: [QueryDocumentSnapshot], violation: String?) {
        state.withLock { ($0.documents, $0.violation) }
    }

    private func hear(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
        state.withLock { state in
            guard let snapshot else {
                state.violation = state.violation ?? "\(String(describing: error))"
                return
            }
            let changes = snapshot.documentChanges(includeMetadataChanges: includesMetadata)
            if state.count > 0, changes.isEmpty, !includesMetadata {
                state.violation = state.violation ?? "a snapshot without changes"
            }
            state.count += 1
            for change in changes { state.violation = state.violation ?? state.apply(change) }
            let (replayed, whole) = (
                state.documents.map(\.reference.path), snapshot.documents.map(\.reference.path)
            )
            if replayed != whole {
                state.violation =
                    state.violation ?? "changes lead to \(replayed), the snapshot has \(whole)"
            }
        }
        if snapshot != nil { first.record(true) }
    }
}

extension DifferentialListener.State {
    /// Applies a change; what is wrong with it, nil for nothing.
    fileprivate mutating func apply(_ change: DocumentChange) -> String? {
        let (old, new) = (Int(change.oldIndex), Int(change.newIndex))
        let path = change.document.reference.path
        if change.type == .added {
            if old != NSNotFound { return "\(path) was added from \(old)" }
        } else {
            guard documents.indices.contains(old), documents[old].reference.path == path else {
                return "\(path) was not at \(old)"
            }
            documents.remove(at: old)
        }
        if change.type == .removed {
            return new == NSNotFound ? nil : "\(path) was removed to \(new)"
        }
        guard (0...documents.count).contains(new) else { return "\(path) cannot be at \(new)" }
        documents.insert(change.document, at: new)
        return nil
    }
}
