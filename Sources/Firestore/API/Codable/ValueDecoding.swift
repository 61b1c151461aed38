internal import Foundation

/// The decoder that values see: looks at one piece of data.
struct ValueDecoding: Decoder {
    /// What the application chose.
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
    /// Whether the names of a map here are names of properties, not data.
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

    /// The decoder of what stands below a key.
    func below(_ key: any CodingKey, value: Any) -> ValueDecoding {
        ValueDecoding(value: value, location: location.appending(key), options: options)
    }

    /// The fields under the names of properties; of names that become one the first in order
    /// stays.
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
