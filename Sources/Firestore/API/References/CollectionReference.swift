import LarderModel
import LarderQuery

/// A reference to a collection, which is also the query for all its documents.
///
/// A reference created from an invalid path keeps the error, and every operation on it fails with
/// that error.
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

    /// The collection ID: the last segment of the path.
    public var collectionID: String {
        switch collection {
        case .success(let path): path.id
        case .failure: String(text.split(separator: "/").last ?? "")
        }
    }

    /// The path relative to the database's root, such as `cities`.
    public var path: String { text }

    /// The document that contains the collection; nil for a root collection.
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

    /// The document with an ID in the collection, or at a path relative to it.
    ///
    /// If the path is not that of a document, every operation fails with `invalidArgument`.
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

    /// A document in the collection with a generated ID of 20 random letters and digits.
    public func document() -> DocumentReference {
        document(CollectionPath.newDocumentID())
    }

    var collection: Result<CollectionPath, LarderError> {
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

// MARK: - Adding

extension CollectionReference {
    /// Adds a document with a generated ID.
    ///
    /// Returns immediately; the document is visible to all later reads and listeners.
    ///
    /// - Returns: the document's reference.
    @discardableResult
    public func addDocument(data: [String: Any]) -> DocumentReference {
        addDocument(data: data, completion: nil)
    }

    /// Adds a document with a generated ID and calls a closure when the write is finished.
    ///
    /// Returns immediately; the document is visible to all later reads and listeners.
    ///
    /// - Parameters:
    ///   - data: the document's fields.
    ///   - completion: called when the backend has accepted the document, which may never happen
    ///     while offline, or with the error of the rejection.
    /// - Returns: the document's reference.
    @discardableResult
    public func addDocument(
        data: [String: Any], completion: (((any Error)?) -> Void)?
    ) -> DocumentReference {
        let document = document()
        document.setData(data, completion: completion)
        return document
    }

    /// Adds a document with a generated ID and suspends until the backend acknowledges it,
    /// indefinitely while offline.
    ///
    /// - Throws: the error of the rejection; `cancelled` if the task is cancelled, in which case
    ///   the write stays pending.
    @discardableResult
    public nonisolated(nonsending) func addDocument(
        data: [String: Any]
    ) async throws -> DocumentReference {
        let document = document()
        try await document.setData(data)
        return document
    }

    /// Adds a document with a generated ID and returns a handle to the write.
    ///
    /// Returns immediately.
    @discardableResult
    public func enqueueAddDocument(
        data: [String: Any]
    ) -> (document: DocumentReference, write: WriteHandle) {
        let document = document()
        return (document, document.enqueueSetData(data))
    }
}

// MARK: - Coding

extension CollectionReference {
    /// Adds a document with a generated ID and the properties of a value.
    ///
    /// Returns immediately; the handler is called as in ``addDocument(data:completion:)``.
    ///
    /// - Returns: the document's reference.
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func addDocument<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
        completion: (((any Error)?) -> Void)? = nil
    ) throws -> DocumentReference {
        addDocument(data: try encoder.encode(value), completion: completion)
    }

    /// Adds a document with a generated ID and the properties of a value, and returns a handle to
    /// the write.
    ///
    /// Returns immediately. There is no asynchronous `addDocument(from:)`, which calls without
    /// `await` in `async` functions would no longer compile with.
    ///
    /// - Throws: errors of the encoder; nothing is written then.
    @discardableResult
    public func enqueueAddDocument<T: Encodable>(
        from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
    ) throws -> (document: DocumentReference, write: WriteHandle) {
        enqueueAddDocument(data: try encoder.encode(value))
    }
}
