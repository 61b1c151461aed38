import Foundation
import LarderModel

/// The data that `Firestore.Encoder` makes.
struct FirestoreEncodingFormat: EncodingFormat {
    let date: FirestoreEncoder.DateEncodingStrategy
    let data: CodingStrategies.DataEncoding
    let float: CodingStrategies.FloatEncoding
    let key: CodingStrategies.KeyEncoding
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
}

/// The data that `Firestore.Decoder` reads.
struct FirestoreDecodingFormat: DecodingFormat {
    let date: FirestoreDecoder.DateDecodingStrategy
    let data: CodingStrategies.DataDecoding
    let float: CodingStrategies.FloatDecoding
    let key: CodingStrategies.KeyDecoding
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
}
