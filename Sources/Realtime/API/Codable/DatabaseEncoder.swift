public import Foundation
import LarderCore

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
    public enum DataEncodingStrategy {
        /// The default encoding of `Data`: an array of numbers.
        case deferredToData
        /// A Base64 string.
        case base64
        /// `Data` itself, which the database does not store.
        case blob
        /// A custom closure.
        case custom((Data, any Encoder) throws -> Void)
    }

    /// The treatment of infinities and NaN.
    public enum NonConformingFloatEncodingStrategy {
        /// Throws an error.
        case `throw`
        /// Represents them as strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The conversion of property names to keys.
    ///
    /// Keys of dictionaries are data and are not converted.
    public enum KeyEncodingStrategy {
        /// No conversion.
        case useDefaultKeys
        /// From `camelCase` to `snake_case`.
        case convertToSnakeCase
        /// A custom closure, called with the coding path from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}

// MARK: - Format

/// The data that `Database.Encoder` makes.
private struct DatabaseEncodingFormat: EncodingFormat {
    let date: DatabaseEncoder.DateEncodingStrategy
    let data: DatabaseEncoder.DataEncodingStrategy
    let float: DatabaseEncoder.NonConformingFloatEncodingStrategy
    let key: DatabaseEncoder.KeyEncodingStrategy
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

    func encoded(_ data: Data, _ own: OwnEncoding) throws -> Any {
        switch self.data {
        case .blob: return data
        case .deferredToData: return try own(data) { try data.encode(to: $0) }
        case .base64: return data.base64EncodedString()
        case .custom(let encode): return try own(data) { try encode(data, $0) }
        }
    }

    func text(of number: Double) -> String? {
        guard case .convertToString(let positiveInfinity, let negativeInfinity, let nan) = float
        else { return nil }
        return number.isNaN ? nan : number > 0 ? positiveInfinity : negativeInfinity
    }

    func name(of key: any CodingKey, at path: @autoclosure () -> [any CodingKey]) -> String {
        switch self.key {
        case .useDefaultKeys: key.stringValue
        case .convertToSnakeCase: SnakeCase.encoding(key.stringValue)
        case .custom(let convert): convert(path() + [key]).stringValue
        }
    }
}
