internal import Foundation
internal import LarderModel

extension ValueDecoding.Options {
    /// A value of a type, from data.
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

    /// A converted value as the type that was asked for.
    private func cast<T>(
        _ converted: Any, _ value: Any, _ location: @autoclosure () -> CodingLocation
    ) throws -> T {
        guard let result = converted as? T else { throw mismatch(T.self, value, at: location()) }
        return result
    }

    /// What a type decodes for itself.
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
                throw corrupted("'\(text)' is no date of ISO 8601", at: location)
            }
            return date
        case .formatted(let formatter):
            let text = try string(value, at: location)
            guard let date = formatter.date(from: text) else {
                throw corrupted("'\(text)' is no date that the formatter reads", at: location)
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
            throw corrupted("'\(text)' is no URL", at: location)
        }
        return url
    }

    private func decimal(_ value: Any, at location: CodingLocation) throws -> Decimal {
        if let number = value as? NSDecimalNumber { return number.decimalValue }
        if case .integer(let integer)? = Value(number: value) { return Decimal(integer) }
        let number = try double(value, at: location)
        // The shortest text of a double is what was meant; its exact value has odd digits.
        return Decimal(string: number.description) ?? Decimal(number)
    }
}
