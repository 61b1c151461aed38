package import LarderModel

/// A change of a document with its indices in the lists before and after it.
///
/// Changes apply one after the other: an index refers to the list after the preceding changes.
package struct IndexedDocumentChange: Sendable, Equatable {
    /// The kinds of changes that applications see.
    package enum Kind: Sendable, Hashable {
        /// The document entered the list.
        case added
        /// The document's contents or metadata changed, and possibly its position.
        case modified
        /// The document left the list.
        case removed
    }

    package let kind: Kind
    /// The current document; for a removal, the last one in the list.
    package let document: Document
    /// The old index; nil if the document was added.
    package let oldIndex: Int?
    /// The new index; nil if the document was removed.
    package let newIndex: Int?
}

extension DocumentViewChanges {
    /// The changes with indices, starting from the given list.
    ///
    /// O(log n) per change for a list of n documents.
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
        // Removals precede additions, so that checking both ends suffices.
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
