import Foundation

struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: Any]
    let decoding: ValueDecoding

    var codingPath: [any CodingKey] { decoding.codingPath }
    var allKeys: [Key] { fields.keys.compactMap(Key.init(stringValue:)) }

    private var options: ValueDecoding.Options { decoding.options }
    private func location(_ key: Key) -> CodingLocation { decoding.location.appending(key) }

    private func value(_ key: any CodingKey) throws -> Any {
        guard let value = fields[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath,
                    debugDescription: "no field '\(key.stringValue)'"))
        }
        return value
    }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try value(key) is NSNull }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try options.boolean(try value(key), at: location(key))
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try options.string(try value(key), at: location(key))
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try options.double(try value(key), at: location(key))
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try options.float(try value(key), at: location(key))
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try options.integer(try value(key), at: location(key))
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try options.integer(try value(key), at: location(key))
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let value = options.format.isOutside(T.self) ? NSNull() : try value(key)
        return try options.decoded(type, from: value, at: location(key))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoding.below(key, value: value(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoding.below(key, value: value(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        let key = PlainKey.superclass
        return decoding.below(key, value: fields[key.stringValue] ?? NSNull())
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        decoding.below(key, value: fields[key.stringValue] ?? NSNull())
    }
}

/// The unkeyed container of the decoder; an element that fails to decode is not skipped.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let elements: [Any]
    let decoding: ValueDecoding
    private(set) var currentIndex = 0

    init(elements: [Any], decoding: ValueDecoding) {
        self.elements = elements
        self.decoding = decoding
    }

    var codingPath: [any CodingKey] { decoding.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private var location: CodingLocation { decoding.location.appending(position: currentIndex) }

    private func element(_ type: Any.Type) throws -> Any {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: location.path, debugDescription: "the array has no more elements"))
        }
        return elements[currentIndex]
    }

    private mutating func next<T>(
        _ type: T.Type,
        _ decode: (ValueDecoding.Options, Any, @autoclosure () -> CodingLocation) throws -> T
    ) throws -> T {
        let result = try decode(decoding.options, try element(type), location)
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard try element(NSNull.self) is NSNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try next(type) { try $0.boolean($1, at: $2()) }
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try next(type) { try $0.string($1, at: $2()) }
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try next(type) { try $0.double($1, at: $2()) }
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try next(type) { try $0.float($1, at: $2()) }
    }

    mutating func decode(_ type: Int.Type) throws -> Int {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: UInt.Type) throws -> UInt {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        try next(type) { try $0.integer($1, at: $2()) }
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try next(type) { try $0.decoded(type, from: $1, at: $2()) }
    }

    private mutating func below(_ type: Any.Type) throws -> ValueDecoding {
        let key = PlainKey(position: currentIndex)
        return decoding.below(key, value: try element(type))
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try below([String: Any].self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try below([Any].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try below(Any.self)
        currentIndex += 1
        return decoder
    }
}

struct SingleValueDecoding: SingleValueDecodingContainer {
    let decoding: ValueDecoding

    var codingPath: [any CodingKey] { decoding.codingPath }

    private var value: Any { decoding.value }
    private var options: ValueDecoding.Options { decoding.options }
    private var location: CodingLocation { decoding.location }

    func decodeNil() -> Bool { value is NSNull }
    func decode(_ type: Bool.Type) throws -> Bool { try options.boolean(value, at: location) }
    func decode(_ type: String.Type) throws -> String { try options.string(value, at: location) }
    func decode(_ type: Double.Type) throws -> Double { try options.double(value, at: location) }
    func decode(_ type: Float.Type) throws -> Float { try options.float(value, at: location) }
    func decode(_ type: Int.Type) throws -> Int { try options.integer(value, at: location) }
    func decode(_ type: Int8.Type) throws -> Int8 { try options.integer(value, at: location) }
    func decode(_ type: Int16.Type) throws -> Int16 { try options.integer(value, at: location) }
    func decode(_ type: Int32.Type) throws -> Int32 { try options.integer(value, at: location) }
    func decode(_ type: Int64.Type) throws -> Int64 { try options.integer(value, at: location) }
    func decode(_ type: UInt.Type) throws -> UInt { try options.integer(value, at: location) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try options.integer(value, at: location) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try options.integer(value, at: location) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try options.integer(value, at: location) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try options.integer(value, at: location) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try options.decoded(type, from: value, at: location)
    }
}
