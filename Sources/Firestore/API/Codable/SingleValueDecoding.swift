internal import Foundation

/// Looks at one value.
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
