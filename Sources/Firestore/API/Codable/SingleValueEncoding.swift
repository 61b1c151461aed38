internal import Foundation

/// Fills a slot with one value.
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
