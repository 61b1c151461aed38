package import LarderModel

/// A change of a document together with its places in the lists before and after it.
///
/// Changes apply one after the other: an index counts in the list that the changes before have
/// left.
package struct IndexedDocumentChange: Sendable, Equatable {
    /// The kinds of changes that applications see.
    package enum Kind: Sendable, Hashable {
        /// The document entered the list.
        case added
        /// The document's contents or metadata changed, and possibly its place.
        case modified
        /// The document left the list.
        case removed
    }

    /// The kind of the change.
    package let kind: Kind
    /// The document, as it was last in the list when it was removed.
    package let document: Document
    /// The old index; nil if the document was added.
    package let oldIndex: Int?
    /// The new index; nil if the document was removed.
    package let newIndex: Int?
}

extension DocumentViewChanges {
    /// The changes with indices, from the list before the first of them.
    ///
    /// O(log n) a change for a list of n documents.
    package func indexed(from old: DocumentSet) -> [IndexedDocumentChange] {
        if old.isEmpty, allAdded {
            return enumerated().map { index, change in
                IndexedDocumentChange(
                    kind: .added, document: change.document, oldIndex: nil, newIndex: index)
            }
        }
        var tracker = old
        return map { $0.applied(to: &tracker) }
    }

    private var allAdded: Bool {
        // Additions are preceded by removals only, so that the ends are sufficient.
        first?.kind == .added && last?.kind == .added
    }
}

extension DocumentViewChange {
    fileprivate func applied(to tracker: inout DocumentSet) -> IndexedDocumentChange {
        var (oldIndex, newIndex): (Int?, Int?)
        if kind != .added {
            oldIndex = tracker.index(of: document.path)
            tracker.remove(document.path)
        }
        if kind != .removed {
            tracker.insert(document)
            newIndex = tracker.index(of: document.path)
        }
        let kind: IndexedDocumentChange.Kind =
            switch kind {
            case .added: .added
            case .removed: .removed
            case .modified, .metadata: .modified
            }
        return IndexedDocumentChange(
            kind: kind, document: document, oldIndex: oldIndex, newIndex: newIndex)
    }
}
