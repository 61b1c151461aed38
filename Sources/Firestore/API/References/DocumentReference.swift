import LarderModel
import LarderQuery

/// Where a document is, whether or not there is one.
///
/// Cheap to make, and a value in documents. When it was made of a path that is not a document's it
/// keeps the error, and every operation reports it.
public final class DocumentReference: Sendable {
    /// The database that the document is in.
    public let firestore: Firestore

    /// The path, or why there is none.
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

    /// A reference that is good for nothing but reporting an error.
    init(_ firestore: Firestore, text: String, failure: LarderError) {
        self.firestore = firestore
        location = .failure(failure)
        self.text = text
    }

    /// The document's id: the last segment of its path.
    public var documentID: String {
        switch location {
        case .success(let path): path.id
        case .failure: String(text.split(separator: "/").last ?? "")
        }
    }

    /// The path below the database's root, such as `cities/SF`.
    public var path: String { text }

    /// The collection that the document is in.
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

    /// The collection at a path below the document, such as `landmarks`.
    ///
    /// With a path that is not a collection's every operation fails with `invalidArgument`.
    public func collection(_ collectionPath: String) -> CollectionReference {
        switch location {
        case .success(let path):
            CollectionReference(firestore, parsing: collectionPath, below: path.string)
        case .failure(let error):
            CollectionReference(firestore, text: text + "/" + collectionPath, failure: error)
        }
    }

    /// The query for the document alone.
    var query: Result<LarderQuery.Query, LarderError> {
        location.map { LarderQuery.Query(.document($0)) }
    }
}

extension DocumentReference: Hashable {
    /// Whether both name the same document of the same database object.
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
