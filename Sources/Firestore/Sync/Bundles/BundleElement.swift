import LarderModel
import LarderRemote

/// A part of a bundle.
enum BundleElement {
    /// What the bundle is; the first part.
    case metadata(BundleMetadata)
    /// A query, of which documents before and behind it may be results.
    case namedQuery(NamedQuery)
    /// What is known of a document. Of one that exists the fields come next.
    case documentMetadata(BundledDocumentMetadata)
    /// A document that exists.
    case document(DocumentReading)
}

/// What a bundle says of a document, apart from its fields.
struct BundledDocumentMetadata {
    /// The document.
    let path: DocumentPath
    /// When it was read.
    let readTime: SnapshotVersion
    /// Whether it existed.
    let exists: Bool
    /// The names of queries that it is a result of.
    let queries: [String]
}
