import Foundation
import LarderModel

struct ValueDecoding: Decoder {
    /// The strategies chosen by the application.
    struct Options {
        let date: FirestoreDecoder.DateDecodingStrategy
        let data: FirestoreDecoder.DataDecodingStrategy
        let float: FirestoreDecoder.NonConformingFloatDecodingStrategy
        let key: FirestoreDecoder.KeyDecodingStrategy
        let userInfo: [CodingUserInfoKey: Any]
    }

    let value: Any
    let location: CodingLocation
    let options: Options
    /// Whether the keys of a map are property names, not data.
    var convertsKeys = true

    var codingPath: [any CodingKey] { location.path }
    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard let fields = value as? [String: Any] else {
            throw options.mismatch([String: Any].self, value, at: location)
        }
        return KeyedDecodingContainer(
            KeyedDecoding(fields: converted(fields), decoding: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value as? [Any] else {
            throw options.mismatch([Any].self, value, at: location)
        }
        return UnkeyedDecoding(elements: elements, decoding: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueDecoding(decoding: self)
    }

    func below(_ key: any CodingKey, value: Any) -> ValueDecoding {
        ValueDecoding(value: value, location: location.appending(key), options: options)
    }

    /// The fields under their property names; if several names convert to the same one, the first
    /// in order wins.
    private func converted(_ fields: [String: Any]) -> [String: Any] {
        guard convertsKeys else { return fields }
        let convert: (String) -> String
        switch options.key {
        case .useDefaultKeys: return fields
        case .convertFromSnakeCase: convert = SnakeCase.decoding
        case .custom(let closure):
            let path = codingPath
            convert = { closure(path + [PlainKey(stringValue: $0)]).stringValue }
        }
        let ordered = fields.sorted { $0.key < $1.key }.map { (convert($0.key), $0.value) }
        return [String: Any](ordered) { first, _ in first }
    }
}

// MARK: - Options

extension ValueDecoding.Options {
    func decoded<T: Decodable>(
        _ type: T.Type, from value: Any, at location: @autoclosure () -> CodingLocation
    ) throws -> T {
        if T.self == Date.self { return try cast(date(value, at: location()), value, location()) }
        if T.self == Data.self { return try cast(data(value, at: location()), value, location()) }
        if T.self is any FirestorePassthrough.Type
            || T.self is any DocumentReferenceConvertible.Type
        {
            return try cast(value, value, location())
        }
        if T.self == URL.self { return try cast(url(value, at: location()), value, location()) }
        if T.self == Decimal.self {
            return try cast(decimal(value, at: location()), value, location())
        }
        return try nested(T.self, value, at: location(), T.init(from:))
    }

    /// Casts a converted value to the requested type.
    private func cast<T>(
        _ converted: Any, _ value: Any, _ location: @autoclosure () -> CodingLocation
    ) throws -> T {
        guard let result = converted as? T else { throw mismatch(T.self, value, at: location()) }
        return result
    }

    /// Decodes a value with its own `init(from:)`.
    private func nested<T>(
        _ type: T.Type, _ value: Any, at location: CodingLocation,
        _ decode: (ValueDecoding) throws -> T
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

    private func date(_ value: Any, at location: CodingLocation) throws -> Date {
        switch date {
        case .timestamp:
            if let time = value as? Timestamp { return time.dateValue() }
            if let date = value as? Date { return date }
            throw mismatch(Timestamp.self, value, at: location)
        case .deferredToDate: return try nested(Date.self, value, at: location, Date.init(from:))
        case .secondsSince1970:
            return Date(timeIntervalSince1970: try double(value, at: location))
        case .millisecondsSince1970:
            return Date(timeIntervalSince1970: try double(value, at: location) / 1000)
        case .iso8601:
            let text = try string(value, at: location)
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw corrupted("'\(text)' is not an ISO 8601 date", at: location)
            }
            return date
        case .formatted(let formatter):
            let text = try string(value, at: location)
            guard let date = formatter.date(from: text) else {
                throw corrupted("'\(text)' does not match the formatter", at: location)
            }
            return date
        case .custom(let decode): return try nested(Date.self, value, at: location, decode)
        }
    }

    private func data(_ value: Any, at location: CodingLocation) throws -> Data {
        switch data {
        case .blob:
            guard let bytes = value as? Data else { throw mismatch(Data.self, value, at: location) }
            return bytes
        case .deferredToData: return try nested(Data.self, value, at: location, Data.init(from:))
        case .base64:
            guard let bytes = Data(base64Encoded: try string(value, at: location)) else {
                throw corrupted("the string is not Base64", at: location)
            }
            return bytes
        case .custom(let decode): return try nested(Data.self, value, at: location, decode)
        }
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
        if case .integer(let integer)? = Value(number: value) { return Decimal(integer) }
        let number = try double(value, at: location)
        // The shortest text of a double is the intended number; its exact value has further digits.
        return Decimal(string: number.description) ?? Decimal(number)
    }
}

// MARK: - Numbers

extension Value {
    /// A boolean or number, boxed or native, of any width; nil for other types.
    init?(number value: Any) {
        guard let known = try? UserValue(value, in: nil), case .scalar(let scalar) = known else {
            return nil
        }
        switch scalar {
        case .boolean, .integer, .double: self = scalar
        default: return nil
        }
    }
}

extension ValueDecoding.Options {
    /// Decodes a boolean; numbers are rejected.
    func boolean(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Bool {
        guard case .boolean(let boolean)? = Value(number: value) else {
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
        switch Value(number: value) {
        case .integer(let integer): exact = T(exactly: integer)
        case .double(let number): exact = T(exactly: number)
        case .boolean: throw mismatch(T.self, value, at: location())
        default:
            // Above Int64.max: no stored number, but one that an encoder may have made.
            guard let number = value as? NSNumber else {
                throw mismatch(T.self, value, at: location())
            }
            exact = T(exactly: number.uint64Value)
        }
        guard let exact else { throw corrupted("\(value) does not fit \(T.self)", at: location()) }
        return exact
    }

    /// Decodes a double, also from an integer.
    func double(_ value: Any, at location: @autoclosure () -> CodingLocation) throws -> Double {
        switch Value(number: value) {
        case .integer(let integer): return Double(integer)
        case .double(let number): return number
        case .boolean: throw mismatch(Double.self, value, at: location())
        default:
            if let text = value as? String, let number = nonConforming(text) { return number }
            guard let number = value as? NSNumber else {
                throw mismatch(Double.self, value, at: location())
            }
            return number.doubleValue
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

    private func nonConforming(_ text: String) -> Double? {
        guard case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = float
        else { return nil }
        switch text {
        case positiveInfinity: return .infinity
        case negativeInfinity: return -.infinity
        case nan: return .nan
        default: return nil
        }
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
