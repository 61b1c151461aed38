public import LarderModel

/// One question to a storage; the answer is lines of text in the form of ``StorageLines``.
public enum StorageQuestion: Sendable {
    /// One document, as a user sees it or as the backend last had it.
    case document(DocumentPath, user: String?)
    /// The documents of a collection in name order.
    case collection(
        CollectionPath, user: String?, isReversed: Bool, allStates: Bool, from: String?,
        to: String?)
    /// The documents of a collection group in name order.
    case group(String, user: String?)
    /// The documents of a collection in the order of read time and name, from a version on.
    case readSince(CollectionPath, SnapshotVersion)
    /// The collections that hold found documents, with their number, in path order.
    case collections
    /// The batches of a user in order.
    case batches(user: String)
    /// The ids of a user's batches that touch a document.
    case batchesTouching(DocumentPath, user: String)
    /// The ids of a user's batches that touch a document directly in a collection.
    case batchesTouchingDocumentsIn(CollectionPath, user: String)
    /// The users that have batches, in order.
    case users
    /// A user's overlays in a collection saved under a batch above one, in name order.
    case overlays(CollectionPath, user: String, since: Int64)
    /// The targets by id.
    case targets
    /// All documents of a target, in path order.
    case targetDocuments(Int32)
    /// The targets that hold a document.
    case targetsHolding(DocumentPath)
}

/// The form of answers, the same for every implementation.
public enum StorageLines {
    /// A document.
    public static func document(
        _ path: DocumentPath, _ state: Document.State, _ version: SnapshotVersion,
        hasLocalMutations: Bool, _ fields: MapValue
    ) -> String {
        "\(path) \(state) \(version)\(hasLocalMutations ? " local" : "") \(fields)"
    }

    /// A batch.
    public static func batch(
        _ id: Int64, _ documents: [DocumentPath], _ payload: [UInt8], attempts: Int,
        failure: String?
    ) -> String {
        "\(id) \(documents) \(payload) \(attempts) \(failure ?? "-")"
    }

    /// A target.
    public static func target(_ id: Int32, canonicalID: String) -> String {
        "\(id) \(canonicalID)"
    }

    /// A collection.
    public static func collection(_ path: CollectionPath, count: Int64) -> String {
        "\(path) \(count)"
    }
}
