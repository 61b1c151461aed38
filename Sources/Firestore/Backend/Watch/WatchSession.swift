import LarderModel
import LarderRemote

/// The backend's side of a watch stream; the backend's core alone uses it.
final class WatchSession {
    /// A target of the stream.
    struct Target {
        /// What is asked: one query, or several documents.
        var queries: [WatchedQuery] = []
        /// How many documents the client knows of it; nil where it was not resumed.
        var expectedCount: Int?
        /// Documents that were told to be in it since it was resumed.
        var joinedCount = 0
        /// Documents that were told not to be in it since it was resumed.
        var leftCount = 0
    }

    /// Its number among the streams.
    let id: StreamID
    /// Asks the rules for the stream's user.
    let gate: Gate
    /// The targets by the client's numbers.
    var targets: [Int32: Target] = [:]
    /// What is still to be said.
    var outbox = WatchOutbox()
    /// How many responses the client takes.
    private(set) var demand = 0

    private let handler: @Sendable (WatchEvent) -> Void

    init(_ id: StreamID, _ gate: Gate, _ handler: @escaping @Sendable (WatchEvent) -> Void) {
        self.id = id
        self.gate = gate
        self.handler = handler
    }

    /// Lets the client have more responses.
    func add(demand count: Int) {
        demand = min(max(count, 0), .max - demand) + demand
    }

    /// Tells the client that the stream is open.
    func open() {
        handler(.opened)
    }

    /// Says something that the client takes.
    func say(_ response: WatchResponse) {
        demand -= 1
        handler(.response(response))
    }

    /// Tells of something that has happened to a document in view of a target.
    func tell(_ effect: WatchEffect, to targetID: Int32) {
        outbox.tell(effect, to: targetID)
        if targets[targetID]?.expectedCount != nil, !outbox.isCurrent(targetID) {
            count(isMember: effect.isMember, in: targetID)
        }
    }

    /// Counts a document that a resumed target is told of.
    func count(isMember: Bool, in targetID: Int32) {
        if isMember {
            targets[targetID]?.joinedCount += 1
        } else {
            targets[targetID]?.leftCount += 1
        }
    }

    /// Tells the client that the stream has ended.
    func close(_ error: LarderError?) {
        handler(.closed(error))
    }

    /// What the client is told of a change.
    ///
    /// - Parameter version: the commit that the document is as of.
    func response(to change: PendingChanges.Change, _ version: SnapshotVersion) -> WatchResponse {
        guard let document = change.document, document.exists else {
            let reading = DocumentReading(path: change.path, contents: .absent, version: version)
            return .document(reading, targetIDs: [], removedTargetIDs: change.left)
        }
        // Out of all targets it is none of the client's business, unless it may read it.
        if change.joined.isEmpty, !(change.isChanged && mayRead(document)) {
            return .removed(change.path, removedTargetIDs: change.left)
        }
        return .document(
            DocumentReading(found: document), targetIDs: change.joined,
            removedTargetIDs: change.left)
    }

    private func mayRead(_ document: Document) -> Bool {
        (try? gate.check(.get(document.path), existing: document)) != nil
    }
}
