internal import Foundation

/// The encoder that values see: fills one slot.
struct ValueEncoding: Encoder {
    /// What the application chose.
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
    /// Whether the keys of the next map are names of properties, not data.
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

    /// The encoder of what stands below a key.
    func below(_ key: any CodingKey, in slot: EncodingSlot) -> ValueEncoding {
        ValueEncoding(slot: slot, location: location.appending(key), options: options)
    }

    /// The field's name for a key.
    func name(of key: any CodingKey) -> String {
        guard convertsKeys else { return key.stringValue }
        switch options.key {
        case .useDefaultKeys: return key.stringValue
        case .convertToSnakeCase: return SnakeCase.encoding(key.stringValue)
        case .custom(let convert): return convert(codingPath + [key]).stringValue
        }
    }
}
