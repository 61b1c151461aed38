public import Foundation
import LarderCore

/// A decoder of `Decodable` types from values of the Realtime Database, also available as
/// `Database.Decoder`.
///
/// Use a decoder on one thread at a time.
public final class DatabaseDecoder {
    /// The representation of dates; seconds since 2001 by default, as `Date` decodes itself.
    public var dateDecodingStrategy = DateDecodingStrategy.deferredToDate

    /// The representation of `Data`; a Base64 string by default.
    public var dataDecodingStrategy = DataDecodingStrategy.base64

    /// The strings that represent infinities and NaN; none by default.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw

    /// The conversion of keys to property names; none by default.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys

    /// The user info passed to `init(from:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Creates a decoder with the default strategies.
    public init() {}

    /// Decodes a value from data of the Realtime Database, such as ``DataSnapshot/value``.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - data: what the encoder makes, or a value of a snapshot. Nil is decoded as null.
    /// - Throws: Swift's `DecodingError` if the data does not match the type, and errors of the
    ///   value's `init(from:)`. These are Swift errors, as of other decoders; on Linux they cannot
    ///   be caught `as NSError`.
    public func decode<T: Decodable>(_ type: T.Type, from data: Any) throws -> T {
        let options = ValueDecoding.Options(
            DatabaseDecodingFormat(
                date: dateDecodingStrategy, data: dataDecodingStrategy,
                float: nonConformingFloatDecodingStrategy, key: keyDecodingStrategy,
                userInfo: userInfo))
        return try options.decoded(type, from: Self.unwrapped(data), at: .root)
    }

    /// The value of an optional, as `dictionary["name"]` gives one; null for nil.
    private static func unwrapped(_ value: Any) -> Any {
        guard let optional = value as? any OptionalData else { return value }
        return optional.wrapped.map(unwrapped) ?? NSNull()
    }
}

/// An optional whose type is not known.
private protocol OptionalData {
    var wrapped: Any? { get }
}

extension Optional: OptionalData {
    fileprivate var wrapped: Any? { self }
}

// MARK: - Strategies

extension DatabaseDecoder {
    /// The representation that dates are decoded from.
    public enum DateDecodingStrategy {
        /// The default encoding of `Date`: seconds since 2001.
        case deferredToDate
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A string such as `2026-11-21T13:00:00Z`.
        case iso8601
        /// A string parsed by a formatter.
        case formatted(DateFormatter)
        /// A custom closure.
        case custom((any Decoder) throws -> Date)
    }

    /// The representation that `Data` is decoded from.
    public enum DataDecodingStrategy {
        /// The default encoding of `Data`: an array of numbers.
        case deferredToData
        /// A Base64 string; `Data` is accepted, too.
        case base64
        /// `Data`; a string is decoded as Base64.
        case blob
        /// A custom closure.
        case custom((any Decoder) throws -> Data)
    }

    /// The strings that represent infinities and NaN.
    public enum NonConformingFloatDecodingStrategy {
        /// No strings.
        case `throw`
        /// Represents them as strings.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The conversion of keys to property names.
    ///
    /// Keys of dictionaries are data and are not converted.
    public enum KeyDecodingStrategy {
        /// No conversion.
        case useDefaultKeys
        /// From `snake_case` to `camelCase`.
        case convertFromSnakeCase
        /// A custom closure, called with the coding path from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}

// MARK: - Format

/// The data that `Database.Decoder` reads.
private struct DatabaseDecodingFormat: DecodingFormat {
    let date: DatabaseDecoder.DateDecodingStrategy
    let data: DatabaseDecoder.DataDecodingStrategy
    let float: DatabaseDecoder.NonConformingFloatDecodingStrategy
    let key: DatabaseDecoder.KeyDecodingStrategy
    let userInfo: [CodingUserInfoKey: Any]

    func isData(_ type: Any.Type) -> Bool { false }
    func isOutside(_ type: Any.Type) -> Bool { false }

    func date(_ source: DecodingSource) throws -> Date {
        switch date {
        case .deferredToDate: return try source.decoded(Date.init(from:))
        case .secondsSince1970: return Date(timeIntervalSince1970: try source.double())
        case .millisecondsSince1970:
            return Date(timeIntervalSince1970: try source.double() / 1000)
        case .iso8601: return try source.iso8601Date()
        case .formatted(let formatter): return try source.date(with: formatter)
        case .custom(let decode): return try source.decoded(decode)
        }
    }

    func data(_ source: DecodingSource) throws -> Data {
        switch data {
        case .blob, .base64: try source.bytes()
        case .deferredToData: try source.decoded(Data.init(from:))
        case .custom(let decode): try source.decoded(decode)
        }
    }

    func number(of text: String) -> Double? {
        guard case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = float
        else { return nil }
        switch text {
        case positiveInfinity: return .infinity
        case negativeInfinity: return -.infinity
        case nan: return .nan
        default: return nil
        }
    }

    func naming(at path: @autoclosure () -> [any CodingKey]) -> ((String) -> String)? {
        switch key {
        case .useDefaultKeys: return nil
        case .convertFromSnakeCase: return SnakeCase.decoding
        case .custom(let convert):
            let path = path()
            return { convert(path + [PlainKey(stringValue: $0)]).stringValue }
        }
    }
}
