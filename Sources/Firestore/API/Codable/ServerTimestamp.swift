public import Foundation
public import LarderModel

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
