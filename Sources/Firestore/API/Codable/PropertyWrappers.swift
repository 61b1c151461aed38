public import Foundation
public import LarderModel

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

/// A property that the server sets to the time of the write when it is nil.
///
/// It encodes nil as `FieldValue.serverTimestamp()` and decodes null as nil, which is what a
/// timestamp reads as that the server has not set yet. The field itself must be there.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
    /// The time; nil asks for the server's.
    public var wrappedValue: Value?

    /// A property with a time, or nil for the server's.
    public init(wrappedValue value: Value?) {
        wrappedValue = value
    }

    /// Decodes a timestamp or null.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue =
            container.decodeNil() ? nil : try Value.wrap(container.decode(Timestamp.self))
    }

    /// Encodes a timestamp, or the sentinel for nil, which `Firestore.Encoder` alone takes.
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

/// A type of times that ``ServerTimestamp`` can hold.
public protocol ServerTimestampWrappable {
    /// The time of a timestamp.
    static func wrap(_ timestamp: Timestamp) throws -> Self

    /// The timestamp of a time.
    ///
    /// - Throws: an error for a time that is no timestamp.
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

/// An optional property that is null in the data when it is nil, instead of missing.
///
/// It decodes null as nil. The field itself must be there.
@propertyWrapper
public struct ExplicitNull<Value> {
    /// The value.
    public var wrappedValue: Value?

    /// A property with a value or nil.
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
