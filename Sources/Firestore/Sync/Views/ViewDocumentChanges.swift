package import HashTreeCollections
package import LarderModel
package import LarderQuery

/// What is known of a document now: the input of a view.
package struct DocumentUpdate: Sendable {
    /// The document.
    package let path: DocumentPath
    /// What is known of it; nil for nothing.
    package let document: Document?
    /// Whether pending writes are gone that no backend has made.
    package let takesBack: Bool

    /// A document's new state.
    package init(path: DocumentPath, document: Document?, takesBack: Bool = false) {
        self.path = path
        self.document = document
        self.takesBack = takesBack
    }

    /// The state of a document that is known.
    package init(_ document: Document) {
        self.init(path: document.path, document: document)
    }
}

/// What changes of documents mean for a view, before they are applied to it.
package struct ViewDocumentChanges: Sendable {
    /// The new result.
    package let documents: DocumentSet
    /// Documents of the new result with pending writes.
    package let mutatedKeys: TreeSet<DocumentPath>
    /// Documents of the new result that show a pending write which the backend has committed.
    let unconfirmedCommits: [DocumentPath: UnconfirmedCommit]
    /// Documents that a limited result has lost by what the backend told, and not by a write here.
    let lost: [DocumentPath]
    /// Documents that the backend has moved beyond the edge of a full, limited result.
    let moved: [DocumentPath]
    /// What has changed since the view's result.
    package let changes: DocumentViewChanges
    /// Whether documents beyond the limit may have to come in: run the query again and compute
    /// with its result after this.
    package let needsRefill: Bool
}

/// What applying changes to a view has led to.
package struct ViewUpdate: Sendable {
    /// The new snapshot; nil when nothing has changed.
    package let snapshot: ViewSnapshot?
    /// Documents that left limbo, then those that came into it, each in path order.
    package let limboChanges: [LimboChange]
}
