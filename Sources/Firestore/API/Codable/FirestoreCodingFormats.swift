import Foundation
import LarderModel

/// The data that `Firestore.Encoder` makes.
struct FirestoreEncodingFormat: EncodingFormat {
    let date: FirestoreEncoder.DateEncodingStrategy
    let data: FirestoreEncoder.DataEncodingStrategy
    let float: FirestoreEncoder.NonConformingFloatEncodingStrategy
    let key: FirestoreEncoder.KeyEncodingStrategy
    let userInfo: [CodingUserInfoKey: Any]

    func isData(_ value: Any) -> Bool {
        value is any FirestorePassthrough || value is any DocumentReferenceConvertible
    }

    func isOutside(_ type: Any.Type) -> Bool { type is any OutsideTheData.Type }

    func encoded(_ date: Date, _ own: OwnEncoding) throws -> Any {
        switch self.date {
        case .timestamp:
            do throws(LarderError) {
                return try Timestamp(validating: date)
            } catch {
                throw own.invalid(date, error.message)
            }
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

/// The data that `Firestore.Decoder` reads.
struct FirestoreDecodingFormat: DecodingFormat {
    let date: FirestoreDecoder.DateDecodingStrategy
    let data: FirestoreDecoder.DataDecodingStrategy
    let float: FirestoreDecoder.NonConformingFloatDecodingStrategy
    let key: FirestoreDecoder.KeyDecodingStrategy
    let userInfo: [CodingUserInfoKey: Any]

    func isData(_ type: Any.Type) -> Bool {
        type is any FirestorePassthrough.Type || type is any DocumentReferenceConvertible.Type
    }

    func isOutside(_ type: Any.Type) -> Bool { type is any OutsideTheData.Type }

    func date(_ source: DecodingSource) throws -> Date {
        switch date {
        case .timestamp:
            if let time = source.value as? Timestamp { return time.dateValue() }
            if let date = source.value as? Date { return date }
            throw source.mismatch(Timestamp.self)
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
