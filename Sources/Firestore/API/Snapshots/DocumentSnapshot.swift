import Foundation
package import LarderModel
import LarderSync
import Logging

/// A document as it was at one moment, or the knowledge that there is none.
///
/// Its fields stay encoded until they are asked for: ``get(_:)-(Any)`` decodes one of them,
/// ``data()`` all.
public class DocumentSnapshot: @unchecked Sendable {
    // Immutable; not final only because QueryDocumentSnapshot is one, as in Apple's SDK.

    let firestore: Firestore
    let path: DocumentPath
    /// What the store knows of the document, its fields as they are stored.
    package let document: Document?
    private let state: SnapshotState

    init(
        _ firestore: Firestore, _ path: DocumentPath, _ document: Document?, _ state: SnapshotState
    ) {
        self.firestore = firestore
        self.path = path
        self.document = document
        self.state = state
    }

    /// The document, when there is one.
    var existingDocument: Document? {
        guard let document, document.exists else { return nil }
        return document
    }

    /// Whether there is such a document.
    public var exists: Bool { existingDocument != nil }

    /// Where the document is.
    public var reference: DocumentReference { DocumentReference(firestore, path) }

    /// The document ID: the last segment of the path.
    public var documentID: String { path.id }

    /// Whether writes are pending in it, and whether it comes from the cache.
    public var metadata: SnapshotMetadata { state.metadata() }

    /// All fields by name; nil when there is no such document.
    ///
    /// Null is `NSNull`, booleans and numbers are `NSNumber`s, bytes are `Data`; the rest are
    /// `String`, ``LarderModel/Timestamp``, ``LarderModel/GeoPoint``, ``DocumentReference``,
    /// ``LarderModel/VectorValue``, `[Any]` and `[String: Any]`. A server timestamp that the
    /// server has not set is `NSNull`.
    public func data() -> [String: Any]? {
        data(with: .none)
    }

    /// All fields by name, with server timestamps that the server has not set as the parameter
    /// says; nil when there is no such document.
    public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
        existingDocument.map { fields(of: $0, serverTimestampBehavior) }
    }

    /// The value of a field, named by a dotted path or a ``FieldPath``; nil when there is none.
    ///
    /// What is no field path names no field, and is logged.
    public func get(_ field: Any) -> Any? {
        get(field, serverTimestampBehavior: .none)
    }

    /// The value of a field, named by a dotted path or a ``FieldPath``, with a server timestamp
    /// that the server has not set as the parameter says; nil when there is none.
    public func get(
        _ field: Any, serverTimestampBehavior: ServerTimestampBehavior
    ) -> Any? {
        do throws(LarderError) {
            let field = try FieldPath.resolving(field)
            if field.isDocumentID { return exists ? reference : nil }
            guard let record = existingDocument?.record else { return nil }
            return writer(serverTimestampBehavior).value(at: field, in: record)
        } catch {
            firestore.logger.error("get(_:) of '\(path)': \(error.message)")
            return nil
        }
    }

    /// The value of a field, named by a dotted path or a ``FieldPath``; nil when there is none.
    public subscript(key: Any) -> Any? { self.get(key) }

    func fields(
        of document: Document, _ behavior: ServerTimestampBehavior
    ) -> [String: Any] {
        document.record.map { writer(behavior).fields(of: $0) } ?? [:]
    }

    private func writer(_ behavior: ServerTimestampBehavior) -> UserDataWriter {
        UserDataWriter(serverTimestamps: behavior, references: firestore)
    }
}

extension DocumentSnapshot: Hashable {
    /// Whether both are of the same document of the same database object, with equal contents and
    /// metadata.
    public static func == (left: DocumentSnapshot, right: DocumentSnapshot) -> Bool {
        left.firestore === right.firestore && left.path == right.path
            && left.state.hasPendingWrites == right.state.hasPendingWrites
            && left.state.isFromCache == right.state.isFromCache
            && left.existingDocument?.record == right.existingDocument?.record
    }

    /// Hashes path and metadata.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(state.hasPendingWrites)
        hasher.combine(state.isFromCache)
    }
}

// MARK: - Coding

extension DocumentSnapshot {
    /// The document as a value of a type.
    ///
    /// A document that does not exist is decoded as null: it is nil for an optional type, and an
    /// error for others.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - serverTimestampBehavior: how server timestamps read that the server has not set.
    ///   - decoder: how fields become properties.
    /// - Throws: Swift's `DecodingError` where the document does not fit the type.
    public func data<T: Decodable>(
        as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
        decoder: Firestore.Decoder = Firestore.Decoder()
    ) throws -> T {
        let fields: Any = data(with: serverTimestampBehavior) ?? NSNull()
        return try decoder.decode(type, fromValue: fields, reference: reference)
    }
}

/// A document among the results of a query; it exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
    // Immutable, as the class that it inherits from.

    init(_ firestore: Firestore, _ document: Document, _ state: SnapshotState) {
        super.init(firestore, document.path, document, state)
    }

    /// All fields by name, as ``DocumentSnapshot/data()`` gives them.
    public override func data() -> [String: Any] {
        data(with: .none)
    }

    /// All fields by name, with server timestamps that the server has not set as the parameter
    /// says.
    public override func data(
        with serverTimestampBehavior: ServerTimestampBehavior
    ) -> [String: Any] {
        guard let document else { return [:] }
        return fields(of: document, serverTimestampBehavior)
    }
}
