import LarderModel
import LarderQuery
import Logging

/// A reference to a document, which need not exist.
///
/// References are cheap to create and can be stored in documents. A reference created from an
/// invalid path keeps the error, and every operation on it fails with that error.
public final class DocumentReference: Sendable {
    /// The database of the document.
    public let firestore: Firestore

    /// The path, or the reason why it is invalid.
    let location: Result<DocumentPath, LarderError>

    private let text: String

    init(_ firestore: Firestore, _ path: DocumentPath) {
        self.firestore = firestore
        location = .success(path)
        text = path.string
    }

    init(_ firestore: Firestore, parsing text: String) {
        self.firestore = firestore
        let location = Result { () throws(LarderError) in try DocumentPath(text) }
        self.location = location
        self.text = (try? location.get())?.string ?? text
    }

    /// An invalid reference, whose operations all fail with an error.
    init(_ firestore: Firestore, text: String, failure: LarderError) {
        self.firestore = firestore
        location = .failure(failure)
        self.text = text
    }

    /// The document ID: the last segment of the path.
    public var documentID: String {
        switch location {
        case .success(let path): path.id
        case .failure: String(text.split(separator: "/").last ?? "")
        }
    }

    /// The path relative to the database's root, such as `cities/SF`.
    public var path: String { text }

    /// The collection that contains the document.
    public var parent: CollectionReference {
        switch location {
        case .success(let path):
            CollectionReference(firestore, path.parent)
        case .failure(let error):
            CollectionReference(
                firestore,
                text: text.split(separator: "/").dropLast().joined(separator: "/"),
                failure: error)
        }
    }

    /// The collection at a path relative to the document, such as `landmarks`.
    ///
    /// If the path is not that of a collection, every operation fails with `invalidArgument`.
    public func collection(_ collectionPath: String) -> CollectionReference {
        switch location {
        case .success(let path):
            CollectionReference(firestore, parsing: collectionPath, below: path.string)
        case .failure(let error):
            CollectionReference(firestore, text: text + "/" + collectionPath, failure: error)
        }
    }

    /// The query that matches only the document.
    var query: Result<LarderQuery.Query, LarderError> {
        location.map { LarderQuery.Query(.document($0)) }
    }
}

extension DocumentReference: Hashable, ObjectComparable {
    /// True if both refer to the same document of the same `Firestore` object.
    public static func == (left: DocumentReference, right: DocumentReference) -> Bool {
        guard left.firestore === right.firestore else { return false }
        switch (left.location, right.location) {
        case (.success(let left), .success(let right)): return left == right
        case (.failure, .failure): return left.text == right.text
        default: return false
        }
    }

    /// Hashes the path.
    public func hash(into hasher: inout Hasher) {
        if case .success(let path) = location { hasher.combine(path) } else { hasher.combine(text) }
    }
}

extension DocumentReference: CustomStringConvertible {
    /// The path.
    public var description: String { text }
}

// MARK: - Value

extension DocumentReference: DocumentReferenceConvertible {
    var databaseID: DatabaseID { firestore.databaseID }

    /// The document's full resource name; invalid for a malformed path.
    var resourceName: ResourceName {
        ResourceName(firestore.documentsPrefix + path)
    }
}

extension UserDataWriter {
    /// Creates a writer whose references belong to a `Firestore` object.
    init(serverTimestamps: ServerTimestampBehavior, references firestore: Firestore) {
        self.init(serverTimestamps: serverTimestamps) { name in
            if let path = name.document(after: firestore.documentsPrefix) {
                return DocumentReference(firestore, path)
            }
            guard let (database, path) = name.parts else {
                return DocumentReference(
                    firestore, text: name.string,
                    failure: LarderError(
                        .invalidArgument,
                        "The stored reference '\(name)' does not name a document."))
            }
            if database != firestore.databaseID {
                firestore.logger.warning(
                    "A document refers to the database \(database); the reference is read as one of \(firestore.databaseID)."
                )
            }
            return DocumentReference(firestore, path)
        }
    }
}
