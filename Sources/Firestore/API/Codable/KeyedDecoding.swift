internal import Foundation

/// Looks at a map.
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
                    debugDescription: "there is no field '\(key.stringValue)'"))
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
        let value = T.self is any OutsideTheData.Type ? NSNull() : try value(key)
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
