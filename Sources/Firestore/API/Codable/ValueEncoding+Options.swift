internal import Foundation
internal import LarderModel

extension ValueEncoding.Options {
    /// A value as it stands in data.
    func encoded<T: Encodable>(_ value: T, at location: @autoclosure () -> CodingLocation) throws
        -> Any
    {
        if T.self == Date.self, let date = value as? Date {
            return try encoded(date: date, at: location())
        }
        if T.self == Data.self, let data = value as? Data {
            return try encoded(data: data, at: location())
        }
        if value is any FirestorePassthrough || value is any DocumentReferenceConvertible {
            return value
        }
        if let url = value as? URL { return url.absoluteString }
        if let number = value as? Decimal { return NSDecimalNumber(decimal: number) }
        return try nested(value, at: location()) { try value.encode(to: $0) }
    }

    /// A double as it stands in data.
    func encoded(_ number: Double, at location: @autoclosure () -> CodingLocation) throws -> Any {
        if number.isFinite { return NSNumber(value: number) }
        switch float {
        case .convertToString(let positiveInfinity, let negativeInfinity, let nan):
            return number.isNaN ? nan : number > 0 ? positiveInfinity : negativeInfinity
        case .throw:
            throw Self.invalid(
                number, "\(number) needs a nonConformingFloatEncodingStrategy", at: location())
        }
    }

    private func encoded(date: Date, at location: CodingLocation) throws -> Any {
        switch self.date {
        case .timestamp:
            do throws(LarderError) {
                return try Timestamp(validating: date)
            } catch {
                throw Self.invalid(date, error.message, at: location)
            }
        case .deferredToDate: return try nested(date, at: location) { try date.encode(to: $0) }
        case .secondsSince1970: return NSNumber(value: date.timeIntervalSince1970)
        case .millisecondsSince1970: return NSNumber(value: date.timeIntervalSince1970 * 1000)
        case .iso8601: return date.ISO8601Format()
        case .formatted(let formatter): return formatter.string(from: date)
        case .custom(let encode): return try nested(date, at: location) { try encode(date, $0) }
        }
    }

    private func encoded(data: Data, at location: CodingLocation) throws -> Any {
        switch self.data {
        case .blob: return data
        case .deferredToData: return try nested(data, at: location) { try data.encode(to: $0) }
        case .base64: return data.base64EncodedString()
        case .custom(let encode): return try nested(data, at: location) { try encode(data, $0) }
        }
    }

    /// What a value encodes of itself; an empty map when that is nothing.
    private func nested<T>(
        _ value: T, at location: CodingLocation, _ encode: (ValueEncoding) throws -> Void
    ) throws -> Any {
        guard location.depth <= CodingLocation.maxDepth else {
            throw Self.invalid(
                value, "values are nested deeper than \(CodingLocation.maxDepth) levels",
                at: location)
        }
        let slot = EncodingSlot()
        try encode(
            ValueEncoding(
                slot: slot, location: location, options: self,
                convertsKeys: !(T.self is any StringKeyedDictionary.Type)))
        return slot.finished ?? [String: Any]()
    }

    private static func invalid(
        _ value: Any, _ text: String, at location: CodingLocation
    ) -> EncodingError {
        .invalidValue(
            value, EncodingError.Context(codingPath: location.path, debugDescription: text))
    }
}
