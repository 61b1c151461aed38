import Foundation
public import LarderModel
import LarderSync
import Logging

/// The state of a document at a point in time, possibly that it does not exist.
///
/// Fields are decoded on access: ``get(_:)-(Any)`` decodes one field, ``data()`` all of them.
public class DocumentSnapshot: @unchecked Sendable {
    // Immutable; not final only because QueryDocumentSnapshot is one, as in Apple's SDK.

    let firestore: Firestore
    let path: DocumentPath
    /// The stored document, with its fields in stored form.
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

    var existingDocument: Document? {
        guard let document, document.exists else { return nil }
        return document
    }

    /// Whether the document exists.
    public var exists: Bool { existingDocument != nil }

    /// The reference to the document.
    public var reference: DocumentReference { DocumentReference(firestore, path) }

    /// The document ID: the last segment of the path.
    public var documentID: String { path.id }

    /// Whether the snapshot contains pending writes and whether it comes from the cache.
    public var metadata: SnapshotMetadata { state.metadata() }

    /// The time at which the backend last committed a change of the document; nil if the document
    /// does not exist or contains pending writes.
    ///
    /// See ``WriteCondition/updated(at:)``.
    public var updateTime: Timestamp? {
        guard let version = existingDocument?.version, !version.isNone else { return nil }
        return version.timestamp
    }

    /// The time at which the backend created the document; nil if it does not exist or the time is
    /// not known.
    ///
    /// The backend sends it with the documents that it delivers. An acknowledged
    /// ``DocumentReference/create(_:)`` determines it, too; after other writes that may have
    /// created the document it is unknown until the backend delivers the document, and so it is
    /// while writes are pending.
    public var createTime: Timestamp? { existingDocument?.createTime }

    /// The latest time, by the backend's clock, at which the snapshot is known to be correct apart
    /// from pending writes; nil if the backend has never delivered the document.
    public var readTime: Timestamp? {
        state.readTime.isNone ? nil : state.readTime.timestamp
    }

    /// All fields by name; nil if the document does not exist.
    ///
    /// Null is `NSNull`, booleans and numbers are `NSNumber`s, bytes are `Data`; other values are
    /// `String`, `Timestamp`, ``LarderModel/GeoPoint``, ``DocumentReference``,
    /// ``LarderModel/VectorValue``, `[Any]` and `[String: Any]`. A pending server timestamp is
    /// `NSNull`.
    public func data() -> [String: Any]? {
        data(with: .none)
    }

    /// All fields by name, with a behavior for pending server timestamps; nil if the document does
    /// not exist.
    public func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]? {
        existingDocument.map { fields(of: $0, serverTimestampBehavior) }
    }

    /// The value of a field, given by a dotted path or a ``FieldPath``; nil if there is none.
    ///
    /// An invalid field path yields nil and is logged.
    public func get(_ field: Any) -> Any? {
        get(field, serverTimestampBehavior: .none)
    }

    /// The value of a field, given by a dotted path or a ``FieldPath``, with a behavior for a
    /// pending server timestamp; nil if there is none.
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

    /// The value of a field, given by a dotted path or a ``FieldPath``; nil if there is none.
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
    /// True if both are of the same document of the same `Firestore` object, with equal contents
    /// and metadata.
    public static func == (left: DocumentSnapshot, right: DocumentSnapshot) -> Bool {
        left.firestore === right.firestore && left.path == right.path
            && left.state.hasPendingWrites == right.state.hasPendingWrites
            && left.state.isFromCache == right.state.isFromCache
            && left.existingDocument?.record == right.existingDocument?.record
    }

    /// True if the other object is a snapshot and equal by `==`.
    public func isEqual(_ object: Any?) -> Bool { (object as? DocumentSnapshot) == self }

    /// Hashes path and metadata.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(state.hasPendingWrites)
        hasher.combine(state.isFromCache)
    }
}

// MARK: - Coding

extension DocumentSnapshot {
    /// Decodes the document.
    ///
    /// A document that does not exist is decoded as null: nil for an optional type, an error for
    /// others.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - serverTimestampBehavior: the value of pending server timestamps.
    ///   - decoder: the decoder.
    /// - Throws: Swift's `DecodingError` if the document does not match the type.
    public func data<T: Decodable>(
        as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
        decoder: Firestore.Decoder = Firestore.Decoder()
    ) throws -> T {
        let fields: Any = data(with: serverTimestampBehavior) ?? NSNull()
        return try decoder.decode(type, fromValue: fields, reference: reference)
    }
}

/// A document in the results of a query, which always exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
    // Immutable, as the class that it inherits from.

    init(_ firestore: Firestore, _ document: Document, _ state: SnapshotState) {
        super.init(firestore, document.path, document, state)
    }

    /// All fields by name, as in ``DocumentSnapshot/data()``.
    public override func data() -> [String: Any] {
        data(with: .none)
    }

    /// All fields by name, with a behavior for pending server timestamps.
    public override func data(
        with serverTimestampBehavior: ServerTimestampBehavior
    ) -> [String: Any] {
        guard let document else { return [:] }
        return fields(of: document, serverTimestampBehavior)
    }
}
