public import Foundation
public import LarderCore

/// An encoder of `Encodable` types to values of the Realtime Database, also available as
/// `Database.Encoder`.
///
/// Booleans and numbers become `NSNumber`, which casts to any number type, decimals
/// `NSDecimalNumber` with all their digits; the database stores the nearest double. Use an encoder on
/// one thread at a time.
public final class DatabaseEncoder {
    /// The representation of dates; seconds since 2001 by default, as `Date` encodes itself.
    public var dateEncodingStrategy = DateEncodingStrategy.deferredToDate

    /// The representation of `Data`; a Base64 string by default.
    public var dataEncodingStrategy = DataEncodingStrategy.base64

    /// The treatment of infinities and NaN; an error by default.
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.throw

    /// The conversion of property names to keys; none by default.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys

    /// The user info passed to `encode(to:)`.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// Creates an encoder with the default strategies.
    public init() {}

    /// Encodes a value for ``DatabaseReference/setValue(_:withCompletionBlock:)``.
    ///
    /// - Throws: Swift's `EncodingError` for a value that is nested deeper than 100 levels or violates
    ///   a strategy, and errors of the value's `encode(to:)`. These are Swift errors, as of other
    ///   encoders; on Linux they cannot be caught `as NSError`.
    public func encode<T: Encodable>(_ value: T) throws -> Any {
        let options = ValueEncoding.Options(
            DatabaseEncodingFormat(
                date: dateEncodingStrategy, data: dataEncodingStrategy,
                float: nonConformingFloatEncodingStrategy, key: keyEncodingStrategy,
                userInfo: userInfo))
        return try options.encoded(value, at: .root)
    }

    /// Encodes a value as the database stores it.
    ///
    /// - Throws: like ``encode(_:)``, and for data that the database cannot store, such as bytes.
    func json<T: Encodable>(of value: T) throws -> JSONValue {
        let encoded = try encode(value)
        do throws(LarderError) {
            return try JSONValue(userValue: encoded)
        } catch {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: error.message, underlyingError: error))
        }
    }
}

// MARK: - Strategies

extension DatabaseEncoder {
    /// The representation of encoded dates.
    public enum DateEncodingStrategy {
        /// The default encoding of `Date`: seconds since 2001.
        case deferredToDate
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A string such as `2026-11-21T13:00:00Z`.
        case iso8601
        /// A string created by a formatter.
        case formatted(DateFormatter)
        /// A custom closure.
        case custom((Date, any Encoder) throws -> Void)
    }

    /// The representation of encoded `Data`.
    public typealias DataEncodingStrategy = CodingStrategies.DataEncoding

    /// The treatment of infinities and NaN.
    public typealias NonConformingFloatEncodingStrategy = CodingStrategies.FloatEncoding

    /// The conversion of property names to keys.
    public typealias KeyEncodingStrategy = CodingStrategies.KeyEncoding
}

// MARK: - Format

/// The data that `Database.Encoder` makes.
private struct DatabaseEncodingFormat: EncodingFormat {
    let date: DatabaseEncoder.DateEncodingStrategy
    let data: CodingStrategies.DataEncoding
    let float: CodingStrategies.FloatEncoding
    let key: CodingStrategies.KeyEncoding
    let userInfo: [CodingUserInfoKey: Any]

    func isData(_ value: Any) -> Bool { false }
    func isOutside(_ type: Any.Type) -> Bool { false }

    func encoded(_ date: Date, _ own: OwnEncoding) throws -> Any {
        switch self.date {
        case .deferredToDate: return try own(date) { try date.encode(to: $0) }
        case .secondsSince1970: return NSNumber(value: date.timeIntervalSince1970)
        case .millisecondsSince1970: return NSNumber(value: date.timeIntervalSince1970 * 1000)
        case .iso8601: return date.ISO8601Format()
        case .formatted(let formatter): return formatter.string(from: date)
        case .custom(let encode): return try own(date) { try encode(date, $0) }
        }
    }
}
