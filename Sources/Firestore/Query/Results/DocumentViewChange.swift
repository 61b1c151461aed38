package import LarderModel

/// What happened to one document of a query's result.
package struct DocumentViewChange: Sendable, Equatable {
    /// The kinds of changes, in the order in which a snapshot lists them; changes of contents and
    /// of metadata are listed among each other.
    package enum Kind: Sendable, Hashable {
        /// It left the result.
        case removed
        /// It came into the result.
        case added
        /// Its fields changed.
        case modified
        /// Only whether it has pending writes changed.
        case metadata

        /// Where changes of this kind are in a snapshot's list.
        var rank: Int {
            switch self {
            case .removed: 0
            case .added: 1
            case .modified, .metadata: 2
            }
        }
    }

    /// What happened.
    package let kind: Kind
    /// The document as it is now; as it was last in the result when it was removed.
    package let document: Document

    /// A change of a document.
    package init(_ kind: Kind, _ document: Document) {
        self.kind = kind
        self.document = document
    }
}
