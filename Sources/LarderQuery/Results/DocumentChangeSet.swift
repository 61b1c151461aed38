import LarderModel

/// Collects changes of documents and merges those of one document into one.
package struct DocumentChangeSet: Sendable {
    private var changes: [DocumentPath: DocumentViewChange] = [:]

    /// No changes, or those that were collected before.
    package init(_ changes: some Sequence<DocumentViewChange> = EmptyCollection()) {
        for change in changes { self.changes[change.document.path] = change }
    }

    /// Whether nothing has changed.
    package var isEmpty: Bool { changes.isEmpty }

    /// Adds a change that comes after those collected so far.
    ///
    /// What was added and is removed again never happened, and what was removed and comes back
    /// was modified. A removal after a modification gives the document of the modification, one
    /// after a change of metadata its own.
    package mutating func add(_ change: DocumentViewChange) {
        let path = change.document.path
        changes[path] = changes[path].map { Self.merged($0, change) } ?? change
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
        DocumentViewChanges(changes.values, by: comparator)
    }
}
