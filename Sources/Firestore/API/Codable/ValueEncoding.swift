import Foundation
import LarderModel

/// The encoder of one value, which fills a slot.
struct ValueEncoding: Encoder {
    /// The strategies chosen by the application.
    struct Options {
        let date: FirestoreEncoder.DateEncodingStrategy
        let data: FirestoreEncoder.DataEncodingStrategy
        let float: FirestoreEncoder.NonConformingFloatEncodingStrategy
        let key: FirestoreEncoder.KeyEncodingStrategy
        let userInfo: [CodingUserInfoKey: Any]
    }

    let slot: EncodingSlot
    let location: CodingLocation
    let options: Options
    /// Whether the keys of the next map are property names, not data.
    var convertsKeys = true

    var codingPath: [any CodingKey] { location.path }
    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.becomeMap()
        return KeyedEncodingContainer(KeyedEncoding(encoding: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.becomeList()
        return UnkeyedEncoding(encoding: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncoding(encoding: self)
    }

    func below(_ key: any CodingKey, in slot: EncodingSlot) -> ValueEncoding {
        ValueEncoding(slot: slot, location: location.appending(key), options: options)
    }

    func name(of key: any CodingKey) -> String {
        guard convertsKeys else { return key.stringValue }
        switch options.key {
        case .useDefaultKeys: return key.stringValue
        case .convertToSnakeCase: return SnakeCase.encoding(key.stringValue)
        case .custom(let convert): return convert(codingPath + [key]).stringValue
        }
    }
}

// MARK: - Options

extension ValueEncoding.Options {
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

    /// Encodes a value with its own `encode(to:)`; an empty map if that encodes nothing.
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

/// A position in encoded data that containers fill, possibly later.
final class EncodingSlot {
    /// The content at a position: a finished value or another slot.
    enum Entry {
        case value(Any)
        case slot(EncodingSlot)

        var finished: Any {
            switch self {
            case .value(let value): value
            case .slot(let slot): slot.finished ?? [String: Any]()
            }
        }
    }

    private enum Content {
        case empty
        case value(Any)
        case map([(name: String, entry: Entry)])
        case list([Entry])
    }

    private var content = Content.empty

    /// The data; nil if nothing was encoded.
    var finished: Any? {
        switch content {
        case .empty: return nil
        case .value(let value): return value
        case .list(let entries): return entries.map(\.finished)
        case .map(let entries):
            var map = [String: Any](minimumCapacity: entries.count)
            for (name, entry) in entries { map[name] = entry.finished }
            return map
        }
    }

    /// Fills the slot with one value.
    func set(_ value: Any) {
        content = .value(value)
    }

    func becomeMap() {
        if case .map = content { return }
        content = .map([])
    }

    func becomeList() {
        if case .list = content { return }
        content = .list([])
    }

    /// The number of elements of a list.
    var count: Int {
        if case .list(let entries) = content { entries.count } else { 0 }
    }

    /// Adds an entry to a map; the last of several equal names wins.
    func put(_ entry: Entry, named name: String) {
        guard case .map(var entries) = content else { return }
        content = .empty
        entries.append((name, entry))
        content = .map(entries)
    }

    func append(_ entry: Entry) {
        guard case .list(var entries) = content else { return }
        content = .empty
        entries.append(entry)
        content = .list(entries)
    }

    /// The slot of a nested container, reused if it was requested before.
    func slot(named name: String) -> EncodingSlot {
        if case .map(let entries) = content,
            case .slot(let known)? = entries.last(where: { $0.name == name })?.entry
        {
            return known
        }
        let slot = EncodingSlot()
        put(.slot(slot), named: name)
        return slot
    }

    func appendedSlot() -> EncodingSlot {
        let slot = EncodingSlot()
        append(.slot(slot))
        return slot
    }
}
