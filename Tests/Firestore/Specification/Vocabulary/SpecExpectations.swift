import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote

/// What a step must lead to; what is not named must not happen.
struct SpecExpectations: Sendable {
    /// The events of listeners.
    let events: [ListenerEvent]
    /// What holds afterwards; nil where nothing new is said.
    let state: StateExpectation?
    /// How often the snapshots-in-sync listeners are called.
    let snapshotsInSyncCount: Int
    /// How many waits for pending writes end well.
    let pendingWritesCount: Int

    init(from step: inout SpecObject) throws {
        events =
            try step.takeIfPresent("expectedSnapshotEvents")?.array()
            .map { try $0.listenerEvent() } ?? []
        state = try step.takeIfPresent("expectedState").map { try StateExpectation($0) }
        snapshotsInSyncCount =
            try step.takeIfPresent("expectedSnapshotsInSyncEvents")?.integer() ?? 0
        pendingWritesCount =
            try step.takeIfPresent("expectedWaitForPendingWritesEvents")?.integer() ?? 0
    }
}

extension SpecNode {
    fileprivate func listenerEvent() throws -> ListenerEvent {
        try object { event in
            var changes: [DocumentViewChange] = []
            for (key, kind) in Self.kinds {
                for document in try event.takeIfPresent(key)?.array() ?? [] {
                    changes.append(DocumentViewChange(kind, try SpecDocument(document).document))
                }
            }
            let code = try event.takeIfPresent("errorCode")?.integer(Int.self) ?? 0
            return ListenerEvent(
                query: try event.take("query").query(),
                error: code == 0 ? nil : LarderError.Code(rawValue: code),
                isFromCache: try event.takeIfPresent("fromCache")?.bool() ?? false,
                hasPendingWrites: try event.takeIfPresent("hasPendingWrites")?.bool() ?? false,
                changes: changes)
        }
    }

    private static let kinds: [(String, DocumentViewChange.Kind)] = [
        ("removed", .removed), ("added", .added), ("modified", .modified), ("metadata", .metadata),
    ]
}
