internal import Foundation

/// Fills a slot with a list.
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
        let key = PlainKey(intValue: count)
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
