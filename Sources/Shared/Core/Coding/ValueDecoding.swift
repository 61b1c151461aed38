package import Foundation

/// What distinguishes the data that one of the databases' decoders reads from that of others: the
/// strategies that the application has chosen, and types whose values are data already.
package protocol DecodingFormat {
    var data: CodingStrategies.DataDecoding { get }
    var float: CodingStrategies.FloatDecoding { get }
    var key: CodingStrategies.KeyDecoding { get }
    var userInfo: [CodingUserInfoKey: Any] { get }

    /// Whether values of a type are data already.
    func isData(_ type: Any.Type) -> Bool

    /// Whether properties of a type are not part of the data.
    func isOutside(_ type: Any.Type) -> Bool

    func date(_ source: DecodingSource) throws -> Date
}

/// A value in the data, for a format to decode.
package struct DecodingSource {
    package let value: Any
    fileprivate let location: CodingLocation
    fileprivate let options: ValueDecoding.Options

    package func double() throws -> Double { try options.double(value, at: location) }
    package func string() throws -> String { try options.string(value, at: location) }

    /// Decodes with a closure that is given a decoder of the value.
    package func decoded<T>(_ decode: (any Decoder) throws -> T) throws -> T {
        try options.nested(T.self, value, at: location, decode)
    }

    package func mismatch(_ type: Any.Type) -> DecodingError {
        options.mismatch(type, value, at: location)
    }

    package func corrupted(_ text: String) -> DecodingError {
        options.corrupted(text, at: location)
    }

    /// Bytes, also as Base64 text.
    package func bytes() throws -> Data {
        if let bytes = value as? Data { return bytes }
        guard let text = value as? String else { throw mismatch(Data.self) }
        guard let bytes = Data(base64Encoded: text) else {
            throw corrupted("the string is not Base64")
        }
        return bytes
    }

    package func iso8601Date() throws -> Date {
        let text = try string()
        guard let date = try? Date(text, strategy: .iso8601) else {
            throw corrupted("'\(text)' is not an ISO 8601 date")
        }
        return date
    }

    package func date(with formatter: DateFormatter) throws -> Date {
        let text = try string()
        guard let date = formatter.date(from: text) else {
            throw corrupted("'\(text)' does not match the formatter")
        }
        return date
    }
}

package struct ValueDecoding: Decoder {
    /// The format of the data, for every value of a call.
    package struct Options {
        let format: any DecodingFormat

        package init(_ format: any DecodingFormat) {
            self.format = format
        }
    }

    let value: Any
    let location: CodingLocation
    let options: Options
    /// Whether the keys of a map are property names, not data.
    var convertsKeys = true

    package var codingPath: [any CodingKey] { location.path }
    package var userInfo: [CodingUserInfoKey: Any] { options.format.userInfo }

    package func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard let fields = value as? [String: Any] else {
            throw options.mismatch([String: Any].self, value, at: location)
        }
        return KeyedDecodingContainer(
            KeyedDecoding(fields: converted(fields), decoding: self))
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value as? [Any] else {
            throw options.mismatch([Any].self, value, at: location)
        }
        return UnkeyedDecoding(elements: elements, decoding: self)
    }

    package func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueDecoding(decoding: self)
    }

    func below(_ key: any CodingKey, value: Any) -> ValueDecoding {
        ValueDecoding(value: value, location: location.appending(key), options: options)
    }

    /// The fields under their property names; if several names convert to the same one, the first
    /// in order wins.
    private func converted(_ fields: [String: Any]) -> [String: Any] {
        guard convertsKeys, let convert = options.format.key.naming(at: codingPath) else {
            return fields
        }
        let ordered = fields.sorted { $0.key < $1.key }.map { (convert($0.key), $0.value) }
        return [String: Any](ordered) { first, _ in first }
    }
}

// MARK: - Options

/// An optional whose type is not known.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

extension ValueDecoding.Options {
    /// Decodes a value that may be an optional, as `data["name"]` gives one; nil is decoded as null.
    package func decoded<T: Decodable>(_ type: T.Type, fromOptional value: Any) throws -> T {
        try decoded(type, from: Self.unwrapped(value), at: .root)
    }

    private static func unwrapped(_ value: Any) -> Any {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.wrapped.map(unwrapped) ?? NSNull()
    }

    package func decoded<T: Decodable>(
        _ type: T.Type, from value: Any, at location: @autoclosure () -> CodingLocation
    ) throws -> T {
        if T.self == Date.self {
            return try cast(format.date(source(value, location())), value, location())
        }
        if T.self == Data.self {
            return try cast(format.data.data(source(value, location())), value, location())
        }
        if format.isData(T.self) { return try cast(value, value, location()) }
        if T.self == URL.self { return try cast(url(value, at: location()), value, location()) }
        if T.self == Decimal.self {
            return try cast(decimal(value, at: location()), value, location())
        }
        // The metatype may be that of a subclass of T.
        return try nested(T.self, value, at: location(), type.init(from:))
    }

    private func source(_ value: Any, _ location: CodingLocation) -> DecodingSource {
        DecodingSource(value: value, location: location, options: self)
    }

    /// Casts a converted value to the requested type.
    private func cast<T>(
        _ converted: Any, _ value: Any, _ location: @autoclosure () -> CodingLocation
    ) throws -> T {
        guard let result = converted as? T else { throw mismatch(T.self, value, at: location()) }
        return result
    }

    /// Decodes a value with its own `init(from:)`.
    fileprivate func nested<T>(
        _ type: T.Type, _ value: Any, at location: CodingLocation,
        _ decode: (any Decoder) throws -> T
    ) throws -> T {
        guard location.depth <= CodingLocation.maxDepth else {
            throw corrupted(
                "the data is nested deeper than \(CodingLocation.maxDepth) levels", at: location)
        }
        return try decode(
            ValueDecoding(
                value: value, location: location, options: self,
                convertsKeys: !(T.self is any StringKeyedDictionary.Type)))
    }

    private func url(_ value: Any, at location: CodingLocation) throws -> URL {
        let text = try string(value, at: location)
        guard let url = URL(string: text) else {
            throw corrupted("'\(text)' is not a URL", at: location)
        }
        return url
    }

    private func decimal(_ value: Any, at location: CodingLocation) throws -> Decimal {
        if let number = value as? NSDecimalNumber { return number.decimalValue }
        switch BoxedNumber(any: value) {
        case .integer(let integer)?: return Decimal(integer)
        case .large(let integer)?: return Decimal(integer)
        default: break
        }
        let number = try double(value, at: location)
        // The shortest text of a double is the intended number; its exact value has further digits.
        return Decimal(string: number.description) ?? Decimal(number)
    }
}

// MARK: - Numbers

extension ValueDecoding.Options {
    /// Decodes a boolean; numbers are rejected.
    func boolean(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Bool {
        guard case .boolean(let boolean)? = BoxedNumber(any: value) else {
            throw mismatch(Bool.self, value, at: location())
        }
        return boolean
    }

    func string(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> String {
        guard let text = value as? String else {
            throw mismatch(String.self, value, at: location())
        }
        return text
    }

    /// Decodes an integer of any width, also from a double without a fraction.
    func integer<T: FixedWidthInteger>(
        _ value: Any, at location: @autoclosure () -> CodingLocation
    ) throws -> T {
        let exact: T?
        switch BoxedNumber(any: value) {
        case .integer(let integer): exact = T(exactly: integer)
        case .large(let integer): exact = T(exactly: integer)
        case .double(let number): exact = T(exactly: number)
        case .boolean, nil: throw mismatch(T.self, value, at: location())
        }
        guard let exact else { throw corrupted("\(value) does not fit \(T.self)", at: location()) }
        return exact
    }

    /// Decodes a double, also from an integer.
    func double(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Double {
        switch BoxedNumber(any: value) {
        case .integer(let integer): return Double(integer)
        case .large(let integer): return Double(integer)
        case .double(let number): return number
        case .boolean: throw mismatch(Double.self, value, at: location())
        case nil:
            if let text = value as? String, let number = format.float.number(of: text) {
                return number
            }
            throw mismatch(Double.self, value, at: location())
        }
    }

    /// Decodes a float; finite numbers out of range are rejected.
    func float(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Float {
        let number = try double(value, at: location())
        let float = Float(number)
        guard float.isFinite || !number.isFinite else {
            throw corrupted("\(number) does not fit Float", at: location())
        }
        return float
    }

    /// The error for data of the wrong type or null.
    func mismatch(_ type: Any.Type, _ value: Any, at location: CodingLocation) -> DecodingError {
        if value is NSNull {
            return .valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: location.path, debugDescription: "\(type) expected, null found"))
        }
        return .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: location.path,
                debugDescription: "\(type) expected, \(Swift.type(of: value)) found"))
    }

    /// The error for invalid data of the right type.
    func corrupted(_ text: String, at location: CodingLocation) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(codingPath: location.path, debugDescription: text))
    }
}
