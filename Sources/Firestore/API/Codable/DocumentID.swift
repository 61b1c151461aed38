/// A property that holds the id of the document that it was read from, or its reference.
///
/// It is filled when a document is decoded and is never encoded; a stored field of its name is
/// ignored. Setting it changes nothing in the database.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable {
    /// The id or reference; nil in a value that was not read from a document.
    public var wrappedValue: Value?

    /// A property with an id or nil.
    public init(wrappedValue value: Value?) {
        wrappedValue = value
    }

    /// Takes the id of the document that is being decoded.
    ///
    /// - Throws: `FirestoreDecodingError.decodingIsNotSupported` with another decoder than
    ///   `Firestore.Decoder`, or where it has no document.
    public init(from decoder: any Decoder) throws {
        guard let key = CodingUserInfoKey.documentReference,
            let reference = decoder.userInfo[key] as? DocumentReference
        else {
            throw FirestoreDecodingError.decodingIsNotSupported(
                "@DocumentID needs Firestore.Decoder and the reference of a document")
        }
        wrappedValue = try Value.wrap(reference)
    }

    /// Fails: `Firestore.Encoder` leaves the property out, others cannot.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "@DocumentID can be left out by Firestore.Encoder only")
    }
}

extension DocumentID: OutsideTheData {}
extension DocumentID: Equatable where Value: Equatable {}
extension DocumentID: Hashable where Value: Hashable {}
extension DocumentID: Sendable where Value: Sendable {}

/// A type that ``DocumentID`` can hold.
public protocol DocumentIDWrappable {
    /// What stands for the document at a reference.
    static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
    /// The document's id.
    public static func wrap(_ documentReference: DocumentReference) throws -> String {
        documentReference.documentID
    }
}

extension DocumentReference: DocumentIDWrappable {
    /// The reference itself.
    public static func wrap(_ documentReference: DocumentReference) throws -> DocumentReference {
        documentReference
    }
}
