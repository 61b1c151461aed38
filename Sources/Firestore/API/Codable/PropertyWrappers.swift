public import Foundation
public import LarderModel

/// A property that contains the ID or the reference of the decoded document.
///
/// It is set when a document is decoded and is never encoded; a stored field with its name is
/// ignored. Setting it has no effect on the database.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable {
    /// The ID or reference; nil in a value that was not decoded from a document.
    public var wrappedValue: Value?

    /// Creates a property with an ID or nil.
    public init(wrappedValue value: Value?) {
        wrappedValue = value
    }

    /// Creates a property with the ID of the document being decoded.
    ///
    /// - Throws: `FirestoreDecodingError.decodingIsNotSupported` for decoders other than
    ///   `Firestore.Decoder`, or if there is no document.
    public init(from decoder: any Decoder) throws {
        guard let key = CodingUserInfoKey.documentReference,
            let reference = decoder.userInfo[key] as? DocumentReference
        else {
            throw FirestoreDecodingError.decodingIsNotSupported(
                "@DocumentID needs Firestore.Decoder and the reference of a document")
        }
        wrappedValue = try Value.wrap(reference)
    }

    /// Always fails: `Firestore.Encoder` omits the property, other encoders cannot.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "@DocumentID can be omitted by Firestore.Encoder only")
    }
}

extension DocumentID: OutsideTheData {}
extension DocumentID: Equatable where Value: Equatable {}
extension DocumentID: Hashable where Value: Hashable {}
extension DocumentID: Sendable where Value: Sendable {}

/// A type that ``DocumentID`` can wrap.
public protocol DocumentIDWrappable {
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

/// A property that the server sets to the commit time if it is nil.
///
/// Nil is encoded as `FieldValue.serverTimestamp()`, and null, the value of a pending server
/// timestamp, is decoded as nil. The field must exist: a missing field throws
/// `DecodingError.keyNotFound`.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
    /// The time; nil requests the server's time.
    public var wrappedValue: Value?

    /// Creates a property with a time, or nil for the server's time.
    public init(wrappedValue value: Value?) {
        wrappedValue = value
    }

    /// Decodes a timestamp or null.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue =
            container.decodeNil() ? nil : try Value.wrap(container.decode(Timestamp.self))
    }

    /// Encodes a timestamp, or for nil the sentinel, which only `Firestore.Encoder` supports.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue {
            try container.encode(Value.unwrap(wrappedValue))
        } else {
            try container.encode(FieldValue.serverTimestamp())
        }
    }
}

extension ServerTimestamp: Equatable where Value: Equatable {}
extension ServerTimestamp: Hashable where Value: Hashable {}
extension ServerTimestamp: Sendable where Value: Sendable {}

/// A type of times that ``ServerTimestamp`` can wrap.
public protocol ServerTimestampWrappable {
    static func wrap(_ timestamp: Timestamp) throws -> Self

    /// The timestamp of a time.
    ///
    /// - Throws: an error for a time that cannot be represented as a timestamp.
    static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
    /// The nearest date.
    public static func wrap(_ timestamp: Timestamp) throws -> Date {
        timestamp.dateValue()
    }

    /// The timestamp of a date.
    ///
    /// - Throws: `invalidArgument` for a date outside the years 0001 to 9999.
    public static func unwrap(_ value: Date) throws -> Timestamp {
        try Timestamp(validating: value)
    }
}

extension Timestamp: ServerTimestampWrappable {
    /// The timestamp itself.
    public static func wrap(_ timestamp: Timestamp) throws -> Timestamp {
        timestamp
    }

    /// The timestamp itself.
    public static func unwrap(_ value: Timestamp) throws -> Timestamp {
        value
    }
}

/// An optional property that is encoded as null if it is nil, instead of being omitted.
///
/// Null is decoded as nil; the field must exist.
@propertyWrapper
public struct ExplicitNull<Value> {
    /// The value.
    public var wrappedValue: Value?

    /// Creates a property with a value or nil.
    public init(wrappedValue value: Value?) {
        wrappedValue = value
    }
}

extension ExplicitNull: Encodable where Value: Encodable {
    /// Encodes the value or null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue {
            try container.encode(wrappedValue)
        } else {
            try container.encodeNil()
        }
    }
}

extension ExplicitNull: Decodable where Value: Decodable {
    /// Decodes a value or null.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }
}

extension ExplicitNull: Equatable where Value: Equatable {}
extension ExplicitNull: Hashable where Value: Hashable {}
extension ExplicitNull: Sendable where Value: Sendable {}
