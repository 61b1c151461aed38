import LarderModel
import LarderQuery

/// Where a collection is, and the query for all its documents.
///
/// When it was made of a path that is not a collection's it keeps the error, and every operation
/// reports it.
public final class CollectionReference: Query, @unchecked Sendable {
    // Immutable, as the class that it inherits from.

    private let text: String

    init(_ firestore: Firestore, _ path: CollectionPath) {
        text = path.string
        super.init(firestore, .success(LarderQuery.Query(.collection(path))))
    }

    init(_ firestore: Firestore, text: String, failure: LarderError) {
        self.text = text
        super.init(firestore, .failure(failure))
    }

    /// The collection at a path, below that of a document where one is given.
    convenience init(_ firestore: Firestore, parsing path: String, below document: String? = nil) {
        do throws(LarderError) {
            // A path that is nothing but slashes must not become the document's own.
            let own = try CollectionPath(path)
            guard let document else {
                self.init(firestore, own)
                return
            }
            self.init(firestore, try CollectionPath(document + "/" + own.string))
        } catch {
            self.init(
                firestore, text: document.map { $0 + "/" + path } ?? path, failure: error)
        }
    }

    /// The collection's id: the last segment of its path.
    public var collectionID: String {
        switch collection {
        case .success(let path): path.id
        case .failure: String(text.split(separator: "/").last ?? "")
        }
    }

    /// The path below the database's root, such as `cities`.
    public var path: String { text }

    /// The document that the collection is below; nil at the root.
    public var parent: DocumentReference? {
        switch collection {
        case .success(let path):
            return path.parent.map { DocumentReference(firestore, $0) }
        case .failure(let error):
            let segments = text.split(separator: "/").dropLast()
            guard !segments.isEmpty else { return nil }
            return DocumentReference(
                firestore, text: segments.joined(separator: "/"), failure: error)
        }
    }

    /// The document in the collection with an id, or at a path below the collection.
    ///
    /// With a path that does not lead to a document every operation fails with `invalidArgument`.
    public func document(_ documentPath: String) -> DocumentReference {
        switch collection {
        case .success(let path):
            do throws(LarderError) {
                return DocumentReference(firestore, try DocumentPath(documentPath, below: path))
            } catch {
                return DocumentReference(
                    firestore, text: text + "/" + documentPath, failure: error)
            }
        case .failure(let error):
            return DocumentReference(
                firestore, text: text + "/" + documentPath, failure: error)
        }
    }

    /// A document in the collection with a new id: 20 random letters and digits.
    public func document() -> DocumentReference {
        document(CollectionPath.newDocumentID())
    }

    private var collection: Result<CollectionPath, LarderError> {
        switch content {
        case .success(let query):
            if case .collection(let path) = query.source { return .success(path) }
            return .failure(LarderError(.internal, "A collection's query is of something else."))
        case .failure(let error):
            return .failure(error)
        }
    }
}

extension CollectionReference: CustomStringConvertible {
    /// The path.
    public var description: String { text }
}
