import LarderModel

/// Collects changes of documents and merges those of one document into one.
package struct DocumentChangeSet: Sendable {
    /// The changes in the order in which their documents came, near that of a snapshot; nil for
    /// those that never happened.
    private var changes: [DocumentViewChange?] = []
    private var positions: [DocumentPath: Int] = [:]

    /// No changes, or those that were collected before.
    package init(_ changes: some Sequence<DocumentViewChange> = EmptyCollection()) {
        for change in changes { add(change) }
    }

    /// Whether nothing has changed.
    package var isEmpty: Bool { changes.allSatisfy { $0 == nil } }

    /// Adds a change that comes after those collected so far.
    ///
    /// What was added and is removed again never happened, and what was removed and comes back
    /// was modified. A removal after a modification gives the document of the modification, one
    /// after a change of metadata its own.
    package mutating func add(_ change: DocumentViewChange) {
        let end = changes.count
        let position = positions.value(of: change.document.path, orNew: end)
        if position == end {
            changes.append(change)
        } else {
            changes[position] = changes[position].map { Self.merged($0, change) } ?? change
        }
    }

    private static func merged(
        _ old: DocumentViewChange, _ new: DocumentViewChange
    ) -> DocumentViewChange? {
        switch (old.kind, new.kind) {
        case (.added, .removed): nil
        case (.added, _): DocumentViewChange(.added, new.document)
        case (.modified, .metadata): DocumentViewChange(.modified, new.document)
        case (.modified, .removed): DocumentViewChange(.removed, old.document)
        case (.removed, .added): DocumentViewChange(.modified, new.document)
        case (.metadata, _), (.modified, _), (.removed, _): new
        }
    }

    /// The changes in the order of a snapshot.
    package func sorted(by comparator: DocumentComparator) -> DocumentViewChanges {
        DocumentViewChanges(changes.lazy.compactMap(\.self), by: comparator)
    }
}

extension Dictionary {
    /// The value of a key, which gets this one unless it has one.
    fileprivate mutating func value(of key: Key, orNew new: Value) -> Value {
        func get(_ value: inout Value?) -> Value {
            if let value { return value }
            value = new
            return new
        }
        return get(&self[key])
    }
}
