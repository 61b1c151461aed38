import Foundation

struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: ValueEncoding

    var codingPath: [any CodingKey] { encoding.codingPath }

    private func put(_ value: Any, _ key: Key) {
        encoding.slot.put(.value(value), named: encoding.name(of: key))
    }

    func encodeNil(forKey key: Key) { put(NSNull(), key) }
    func encode(_ value: Bool, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: String, forKey key: Key) { put(value, key) }
    func encode(_ value: Int, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: Int8, forKey key: Key) { put(NSNumber(value: Int(value)), key) }
    func encode(_ value: Int16, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: Int32, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: Int64, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: UInt, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: UInt8, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: UInt16, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: UInt32, forKey key: Key) { put(NSNumber(value: value), key) }
    func encode(_ value: UInt64, forKey key: Key) { put(NSNumber(value: value), key) }

    func encode(_ value: Float, forKey key: Key) throws {
        try encode(Double(value), forKey: key)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        put(try encoding.options.encoded(value, at: encoding.location.appending(key)), key)
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        if encoding.options.format.isOutside(T.self) { return }
        put(try encoding.options.encoded(value, at: encoding.location.appending(key)), key)
    }

    private func below(_ key: any CodingKey) -> ValueEncoding {
        encoding.below(key, in: encoding.slot.slot(named: encoding.name(of: key)))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        below(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        below(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { below(PlainKey.superclass) }
    func superEncoder(forKey key: Key) -> any Encoder { below(key) }
}

struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoding: ValueEncoding

    var codingPath: [any CodingKey] { encoding.codingPath }
    var count: Int { encoding.slot.count }

    private func append(_ value: Any) { encoding.slot.append(.value(value)) }
    private var location: CodingLocation { encoding.location.appending(position: count) }

    func encodeNil() { append(NSNull()) }
    func encode(_ value: Bool) { append(NSNumber(value: value)) }
    func encode(_ value: String) { append(value) }
    func encode(_ value: Int) { append(NSNumber(value: value)) }
    func encode(_ value: Int8) { append(NSNumber(value: Int(value))) }
    func encode(_ value: Int16) { append(NSNumber(value: value)) }
    func encode(_ value: Int32) { append(NSNumber(value: value)) }
    func encode(_ value: Int64) { append(NSNumber(value: value)) }
    func encode(_ value: UInt) { append(NSNumber(value: value)) }
    func encode(_ value: UInt8) { append(NSNumber(value: value)) }
    func encode(_ value: UInt16) { append(NSNumber(value: value)) }
    func encode(_ value: UInt32) { append(NSNumber(value: value)) }
    func encode(_ value: UInt64) { append(NSNumber(value: value)) }
    func encode(_ value: Float) throws { try encode(Double(value)) }

    func encode(_ value: Double) throws {
        append(try encoding.options.encoded(value, at: location))
    }

    func encode<T: Encodable>(_ value: T) throws {
        append(try encoding.options.encoded(value, at: location))
    }

    private func below() -> ValueEncoding {
        let key = PlainKey(position: count)
        return encoding.below(key, in: encoding.slot.appendedSlot())
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        below().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { below().unkeyedContainer() }
    func superEncoder() -> any Encoder { below() }
}

struct SingleValueEncoding: SingleValueEncodingContainer {
    let encoding: ValueEncoding

    var codingPath: [any CodingKey] { encoding.codingPath }

    private func set(_ value: Any) { encoding.slot.set(value) }

    func encodeNil() { set(NSNull()) }
    func encode(_ value: Bool) { set(NSNumber(value: value)) }
    func encode(_ value: String) { set(value) }
    func encode(_ value: Int) { set(NSNumber(value: value)) }
    func encode(_ value: Int8) { set(NSNumber(value: Int(value))) }
    func encode(_ value: Int16) { set(NSNumber(value: value)) }
    func encode(_ value: Int32) { set(NSNumber(value: value)) }
    func encode(_ value: Int64) { set(NSNumber(value: value)) }
    func encode(_ value: UInt) { set(NSNumber(value: value)) }
    func encode(_ value: UInt8) { set(NSNumber(value: value)) }
    func encode(_ value: UInt16) { set(NSNumber(value: value)) }
    func encode(_ value: UInt32) { set(NSNumber(value: value)) }
    func encode(_ value: UInt64) { set(NSNumber(value: value)) }
    func encode(_ value: Float) throws { try encode(Double(value)) }

    func encode(_ value: Double) throws {
        set(try encoding.options.encoded(value, at: encoding.location))
    }

    func encode<T: Encodable>(_ value: T) throws {
        set(try encoding.options.encoded(value, at: encoding.location))
    }
}
