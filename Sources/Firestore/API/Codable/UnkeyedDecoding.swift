internal import Foundation

/// Looks at a list, one element after the other; an element that fails is not passed.
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
        let key = PlainKey(intValue: currentIndex)
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
