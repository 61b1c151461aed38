package import LarderModel

/// The documents that a query selects at the backend, possibly with a part of their fields.
package struct SelectedDocuments: Sendable, Equatable {
    /// The documents in the query's order.
    package var documents: [DocumentReading]
    /// The snapshot of the query; none if the backend does not say.
    package var readTime: SnapshotVersion

    package init(documents: [DocumentReading], readTime: SnapshotVersion) {
        self.documents = documents
        self.readTime = readTime
    }
}

/// Some documents of a part of the database.
package struct SubtreePage: Sendable, Equatable {
    /// A part of the database.
    package enum Subtree: Sendable, Hashable {
        /// The descendants of a document, without the document.
        case below(DocumentPath)
        /// The documents of a collection and all their descendants.
        case collection(CollectionPath)
    }

    package var subtree: Subtree
    /// The last document of the previous page; nil for the first page.
    package var after: DocumentPath?
    /// The maximum number of documents.
    package var limit: Int

    package init(_ subtree: Subtree, after: DocumentPath? = nil, limit: Int) {
        self.subtree = subtree
        self.after = after
        self.limit = limit
    }

    /// The document that contains the part; nil for the root.
    package var parent: DocumentPath? {
        switch subtree {
        case .below(let document): document
        case .collection(let collection): collection.parent
        }
    }

    /// The bounds of the names in the part, the second exclusive; nil for all descendants of the
    /// parent.
    ///
    /// They name the smallest possible document of the collection and of the next one, and are not
    /// valid for documents.
    package var bounds: (lower: String, upper: String)? {
        guard case .collection(let collection) = subtree else { return nil }
        return (
            collection.string + "/" + Self.smallestID, collection.string + "\0/" + Self.smallestID
        )
    }

    private static let smallestID = "__id-9223372036854775808__"
}

/// The result of one of several mutations that were committed by themselves.
package typealias MutationOutcome = Result<MutationResult, LarderError>
