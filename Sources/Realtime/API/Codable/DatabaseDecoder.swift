public import Foundation
public import LarderCore

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
        return try options.decoded(type, fromOptional: data)
    }
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
    public typealias DataDecodingStrategy = CodingStrategies.DataDecoding

    /// The strings that represent infinities and NaN.
    public typealias NonConformingFloatDecodingStrategy = CodingStrategies.FloatDecoding

    /// The conversion of keys to property names.
    public typealias KeyDecodingStrategy = CodingStrategies.KeyDecoding
}

// MARK: - Format

/// The data that `Database.Decoder` reads.
private struct DatabaseDecodingFormat: DecodingFormat {
    let date: DatabaseDecoder.DateDecodingStrategy
    let data: CodingStrategies.DataDecoding
    let float: CodingStrategies.FloatDecoding
    let key: CodingStrategies.KeyDecoding
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
}
