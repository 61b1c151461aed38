import LarderModel
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

/// The database of these tests.
let testDatabase = DatabaseID(project: "p", database: "d")

/// What the names of its documents begin with.
let testRoot = "projects/p/databases/d/documents"

/// A coder for it.
func testCoder() throws -> MessageCoder { MessageCoder(testDatabase) }

/// The message after it went over the wire.
func sent<M: Message>(_ message: M) throws -> M {
    try M(serializedBytes: try message.serializedBytes() as [UInt8])
}

/// The message of an answer's bytes.
func sent<M: Message>(_ answer: Response<M>) throws -> M {
    try M(serializedBytes: try ResponseSerializer<M>().serialize(answer) as [UInt8])
}

/// Expects an error of a kind whose message has some words.
func expectError(
    _ kind: LarderError.Code, _ words: String, _ body: () throws -> Void,
    at location: SourceLocation = #_sourceLocation
) {
    #expect(sourceLocation: location) {
        try body()
    } throws: { error in
        guard let error = error as? LarderError else { return false }
        let isExpected = error.kind == kind && error.message.contains(words)
        if !isExpected { Issue.record("\(error)", sourceLocation: location) }
        return isExpected
    }
}

extension Value {
    /// The value as it is after it was sent: times cut to microseconds.
    var asSent: Value {
        switch self {
        case .timestamp(let time): .timestamp(time.truncatedToMicroseconds)
        case .array(let values): .array(values.map(\.asSent))
        case .map(let entries): .map(entries.asSent)
        default: self
        }
    }
}

extension MapValue {
    /// The fields as they are after they were sent.
    var asSent: MapValue { MapValue(map { ($0.name, $0.value.asSent) }) }
}

extension SeededRandom {
    /// A value that can be sent.
    mutating func sendable(depth: Int = 3) -> Value {
        while true {
            let value = value(depth: depth)
            if value.canBeSent { return value }
        }
    }

    /// Fields that can be sent.
    mutating func sendableFields(depth: Int = 3) -> MapValue {
        var fields = MapValue()
        for _ in 0..<below(6) { fields[name()] = sendable(depth: depth) }
        return fields
    }

    /// Bytes of which a few are others, gone, or come twice.
    mutating func damaged(_ sound: [UInt8]) -> [UInt8] {
        var bytes = sound
        for _ in 0...below(2) where !bytes.isEmpty {
            let place = below(bytes.count)
            switch below(4) {
            case 0: bytes[place] = UInt8(below(256))
            case 1: bytes[place] ^= 1 << UInt8(below(8))
            case 2: bytes.remove(at: place)
            default: bytes.insert(bytes[below(bytes.count)], at: place)
            }
        }
        return bytes
    }
}

extension Value {
    /// Whether nothing in it exists locally only.
    fileprivate var canBeSent: Bool {
        switch self {
        case .serverTimestamp, .max: false
        case .array(let values): values.allSatisfy(\.canBeSent)
        case .map(let entries): entries.allSatisfy(\.value.canBeSent)
        default: true
        }
    }
}

/// The message of a value, from a closure that sets one of its fields.
func message(
    _ set: (inout Google_Firestore_V1_Value) -> Void
) -> Google_Firestore_V1_Value {
    var message = Google_Firestore_V1_Value()
    set(&message)
    return message
}

/// The message of a map's entry.
func entry(
    _ name: String, _ value: Google_Firestore_V1_Value
) -> Google_Firestore_V1_MapValue.FieldsEntry {
    var entry = Google_Firestore_V1_MapValue.FieldsEntry()
    entry.key = name
    entry.value = value
    return entry
}

/// A message of a query of collection `c`, from a closure that sets its fields.
func query(
    _ set: (inout Google_Firestore_V1_StructuredQuery) -> Void
) -> Google_Firestore_V1_StructuredQuery {
    var query = Google_Firestore_V1_StructuredQuery()
    query.from = [.init()]
    query.from[0].collectionID = "c"
    set(&query)
    return query
}
