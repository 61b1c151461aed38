import FirebaseFirestore

/// A list of trails that follows its query.
package final class TrailList {
    package private(set) var trails: [Trail] = []
    package private(set) var log: [String] = []
    private var registration: ListenerRegistration?

    private let query: Query
    private let onChange: () -> Void

    package init(query: Query, onChange: @escaping () -> Void) {
        self.query = query
        self.onChange = onChange
    }

    package func start() {
        guard registration == nil else { return }
        registration = query.addSnapshotListener(includeMetadataChanges: false) {
            [weak self] snapshot, error in
            guard let self else { return }
            guard let snapshot else {
                self.log.append(error.map(ErrorText.describe) ?? "no error")
                return
            }
            self.trails = snapshot.documents.compactMap { try? $0.data(as: Trail.self) }
            for change in snapshot.documentChanges {
                switch change.type {
                case .added: self.log.append("+ \(change.document.documentID)")
                case .modified: self.log.append("~ \(change.document.documentID)")
                case .removed: self.log.append("- \(change.document.documentID)")
                }
            }
            self.onChange()
        }
    }

    package func stop() {
        registration?.remove()
        registration = nil
    }

    /// The first snapshot of the query, through the asynchronous sequence.
    package static func first(of query: Query) async throws -> [String] {
        let sequence: Query.QuerySnapshotsSequence = query.snapshots
        for try await snapshot in sequence {
            return snapshot.documents.map(\.documentID)
        }
        return []
    }
}
