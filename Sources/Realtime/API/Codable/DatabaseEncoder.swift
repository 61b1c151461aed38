public import Foundation
import LarderCore

/// An encoder of `Encodable` types to values of the Realtime Database, also available as
/// `Database.Encoder`.
///
/// The strategies are those of Foundation's `JSONEncoder`. Use an encoder on one thread at a time.
public final class DatabaseEncoder {
    private let encoder = JSONEncoder()

    /// Creates an encoder with the default strategies.
    public init() {}

    /// The representation of dates; seconds since 2001 by default, as `Date` encodes itself.
    public var dateEncodingStrategy: JSONEncoder.DateEncodingStrategy {
        get { encoder.dateEncodingStrategy }
        set { encoder.dateEncodingStrategy = newValue }
    }

    /// The representation of `Data`; a Base64 string by default.
    public var dataEncodingStrategy: JSONEncoder.DataEncodingStrategy {
        get { encoder.dataEncodingStrategy }
        set { encoder.dataEncodingStrategy = newValue }
    }

    /// The strings that represent infinities and NaN; none by default.
    public var nonConformingFloatEncodingStrategy: JSONEncoder.NonConformingFloatEncodingStrategy {
        get { encoder.nonConformingFloatEncodingStrategy }
        set { encoder.nonConformingFloatEncodingStrategy = newValue }
    }

    /// The conversion of property names to keys; none by default.
    public var keyEncodingStrategy: JSONEncoder.KeyEncodingStrategy {
        get { encoder.keyEncodingStrategy }
        set { encoder.keyEncodingStrategy = newValue }
    }

    /// The user info passed to `encode(to:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { encoder.userInfo }
        set { encoder.userInfo = newValue }
    }

    /// Encodes a value for ``DatabaseReference/setValue(_:withCompletionBlock:)``.
    ///
    /// - Throws: Swift's `EncodingError`, and errors of the value's `encode(to:)`. These are Swift
    ///   errors, as of other encoders; on Linux they cannot be caught `as NSError`.
    public func encode<T: Encodable>(_ value: T) throws -> Any {
        try json(of: value).foundationValue
    }

    func json<T: Encodable>(of value: T) throws -> JSONValue {
        let text = try encoder.encode(value)
        do {
            return try text.withUnsafeBytes {
                try JSONValue(parsing: $0, maximumDepth: 1000, duplicateNames: .kept)
            }
        } catch let error as JSONError {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "\(error)"))
        }
    }
}

/// A decoder of `Decodable` types from values of the Realtime Database, also available as
/// `Database.Decoder`.
///
/// The strategies are those of Foundation's `JSONDecoder`. Use a decoder on one thread at a time.
public final class DatabaseDecoder {
    private let decoder = JSONDecoder()

    /// Creates a decoder with the default strategies.
    public init() {}

    /// The representation of dates; seconds since 2001 by default, as `Date` decodes itself.
    public var dateDecodingStrategy: JSONDecoder.DateDecodingStrategy {
        get { decoder.dateDecodingStrategy }
        set { decoder.dateDecodingStrategy = newValue }
    }

    /// The representation of `Data`; a Base64 string by default.
    public var dataDecodingStrategy: JSONDecoder.DataDecodingStrategy {
        get { decoder.dataDecodingStrategy }
        set { decoder.dataDecodingStrategy = newValue }
    }

    /// The strings that represent infinities and NaN; none by default.
    public var nonConformingFloatDecodingStrategy: JSONDecoder.NonConformingFloatDecodingStrategy {
        get { decoder.nonConformingFloatDecodingStrategy }
        set { decoder.nonConformingFloatDecodingStrategy = newValue }
    }

    /// The conversion of keys to property names; none by default.
    public var keyDecodingStrategy: JSONDecoder.KeyDecodingStrategy {
        get { decoder.keyDecodingStrategy }
        set { decoder.keyDecodingStrategy = newValue }
    }

    /// The user info passed to `init(from:)`.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { decoder.userInfo }
        set { decoder.userInfo = newValue }
    }

    /// Decodes a value from data of the Realtime Database, such as ``DataSnapshot/value``.
    ///
    /// - Throws: Swift's `DecodingError` if the data does not match the type, and errors of the
    ///   value's `init(from:)`. These are Swift errors, as of other decoders; on Linux they cannot
    ///   be caught `as NSError`.
    public func decode<T: Decodable>(_ type: T.Type, from data: Any) throws -> T {
        let json: JSONValue
        do throws(LarderError) {
            json = try JSONValue(userValue: data)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [], debugDescription: error.message, underlyingError: error))
        }
        return try decode(type, from: json)
    }

    func decode<T: Decodable>(_ type: T.Type, from json: JSONValue) throws -> T {
        var text: [UInt8] = []
        JSONWriter.append(json, to: &text)
        return try decoder.decode(type, from: Data(text))
    }
}
