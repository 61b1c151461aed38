import LarderModel

/// Changes that a stream is still to tell of, one for each document: of a slow client's changes
/// none but the last is kept.
struct PendingChanges {
    /// A document, as it is now, and the targets that it is in or no longer in.
    struct Change {
        let path: DocumentPath
        /// The document; nil where nothing is known of it.
        var document: Document?
        /// Targets that have it.
        var joined: [Int32] = []
        /// Targets that have it no longer, or not.
        var left: [Int32] = []
        /// Whether the document has changed; else it only went.
        var isChanged: Bool
    }

    private var changes: [Change] = []
    private var positions: [DocumentPath: Int] = [:]

    /// Whether there is nothing to tell.
    var isEmpty: Bool { changes.isEmpty }

    /// Adds what has happened to a document in view of a target.
    mutating func add(_ effect: WatchEffect, to targetID: Int32) {
        let path = effect.document.path
        guard let position = positions[path] else {
            positions[path] = changes.count
            var change = Change(
                path: path, document: effect.document, isChanged: effect.isChanged)
            change.add(targetID, isMember: effect.isMember)
            changes.append(change)
            return
        }
        changes[position].drop(targetID)
        changes[position].add(targetID, isMember: effect.isMember)
        changes[position].document = effect.document
        changes[position].isChanged = changes[position].isChanged || effect.isChanged
    }

    /// Takes in what a document has become, if anything is to be told of it.
    mutating func refresh(_ document: Document) {
        guard let position = positions[document.path] else { return }
        changes[position].document = document
        changes[position].isChanged = true
    }

    /// Forgets a target.
    mutating func drop(_ targetID: Int32) {
        for position in changes.indices { changes[position].drop(targetID) }
    }

    /// The changes, the earliest first; none are left.
    mutating func take() -> [Change] {
        defer { self = PendingChanges() }
        return changes.filter { !$0.isEmpty }
    }
}

extension PendingChanges.Change {
    /// Whether no target is concerned.
    var isEmpty: Bool { joined.isEmpty && left.isEmpty }

    /// Adds a target that the document is in, or not.
    mutating func add(_ targetID: Int32, isMember: Bool) {
        if isMember { joined.append(targetID) } else { left.append(targetID) }
    }

    /// Forgets a target.
    mutating func drop(_ targetID: Int32) {
        joined.removeAll { $0 == targetID }
        left.removeAll { $0 == targetID }
    }
}
