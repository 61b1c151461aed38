public import Foundation

/// A property wrapper for a time that the server sets: `nil` encodes the placeholder that the
/// server replaces by its time, a date encodes milliseconds since 1970.
///
/// ```swift
/// struct Message: Codable {
///     var text: String
///     @ServerTimestamp var sent: Date?
/// }
/// ```
///
/// The product `Larder` has a wrapper of the same name for Firestore; a file that imports both
/// writes `LarderRealtime.ServerTimestamp`.
@propertyWrapper
public struct ServerTimestamp: Codable, Equatable, Hashable, Sendable {
    /// The time; nil for the server's time of the write.
    public var wrappedValue: Date?

    /// A property with a time, or with that of the server.
    public init(wrappedValue: Date?) {
        self.wrappedValue = wrappedValue
    }

    private enum CodingKeys: String, CodingKey {
        case serverValue = ".sv"
    }

    /// Decodes milliseconds since 1970.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard !container.decodeNil() else {
            wrappedValue = nil
            return
        }
        let milliseconds = try container.decode(Double.self)
        wrappedValue = Date(timeIntervalSince1970: milliseconds / 1000)
    }

    /// Encodes milliseconds since 1970, or the placeholder.
    public func encode(to encoder: any Encoder) throws {
        if let wrappedValue {
            var container = encoder.singleValueContainer()
            let milliseconds = (wrappedValue.timeIntervalSince1970 * 1000).rounded()
            guard let integer = Int64(exactly: milliseconds) else {
                throw EncodingError.invalidValue(
                    wrappedValue,
                    EncodingError.Context(
                        codingPath: encoder.codingPath,
                        debugDescription: "the date is out of range"))
            }
            try container.encode(integer)
        } else {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode("timestamp", forKey: .serverValue)
        }
    }
}
