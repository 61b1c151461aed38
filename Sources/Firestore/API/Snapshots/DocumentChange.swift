import Foundation

/// What happened to a document in a query's results.
public enum DocumentChangeType: Int, Hashable, Sendable {
    /// It has come into the results.
    case added = 0
    /// It is in them still, with other contents or, where that was asked for, other metadata.
    case modified = 1
    /// It has left the results; ``DocumentChange/document`` is as it was before.
    case removed = 2
}

/// A document's change from one snapshot of a query to the next.
///
/// Applied in their order to the earlier documents, each by removing at ``oldIndex`` and inserting at
/// ``newIndex``, the changes of a snapshot give its documents.
public final class DocumentChange: Sendable {
    /// What happened.
    public let type: DocumentChangeType

    /// The document after the change, or before it for one that left.
    public let document: QueryDocumentSnapshot

    /// Where it was when the changes before this one are applied; `UInt(NSNotFound)` for one that
    /// was added.
    public let oldIndex: UInt

    /// Where it is then; `UInt(NSNotFound)` for one that was removed.
    public let newIndex: UInt

    init(
        _ type: DocumentChangeType, _ document: QueryDocumentSnapshot, oldIndex: Int?,
        newIndex: Int?
    ) {
        self.type = type
        self.document = document
        self.oldIndex = UInt(oldIndex ?? NSNotFound)
        self.newIndex = UInt(newIndex ?? NSNotFound)
    }
}

extension DocumentChange: Hashable {
    /// Whether the same happened to equal documents at the same places.
    public static func == (left: DocumentChange, right: DocumentChange) -> Bool {
        left.type == right.type && left.oldIndex == right.oldIndex
            && left.newIndex == right.newIndex && left.document == right.document
    }

    /// Hashes type, document and places.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(document)
        hasher.combine(oldIndex)
        hasher.combine(newIndex)
    }
}
