import Foundation
import LarderModel
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Values and messages")
struct ValueCodingTests {
    @Test("Values come back as they were, times to the microsecond")
    func roundTrip() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        for _ in 0..<2_000 {
            let value = random.sendable()
            let back = try coder.decode(try sent(try coder.encode(value)))
            #expect(back == value.asSent, "\(random)")
        }
    }

    @Test("Fields survive encoding and decoding, with names distinguished by their bytes")
    func fields() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        for _ in 0..<500 {
            let record = try Record(random.sendableFields())
            let path = try DocumentPath("c/d")
            let message = try sent(try coder.encode(record, at: path))
            let back = try coder.decode(message)
            #expect(back.path == path)
            #expect(back.record.fields == record.fields.asSent, "\(random)")
        }
        let twins: MapValue = ["é": 1, "e\u{301}": 2]
        #expect(twins.count == 2)
        let message = try coder.encode(try Record(twins), at: try DocumentPath("c/d"))
        #expect(try coder.decode(try sent(message)).record.fields == twins)
    }

    private static let samples: [(Value, String)] = [
        (.null, "null_value: NULL_VALUE"),
        (.boolean(true), "boolean_value: true"),
        (.integer(-7), "integer_value: -7"),
        (.double(1.5), "double_value: 1.5"),
        (.double(.nan), "double_value: nan"),
        (.double(-.infinity), "double_value: -inf"),
        (
            .timestamp(Timestamp(seconds: -1, nanoseconds: 5000)),
            "timestamp_value { seconds: -1 nanos: 5000 }"
        ),
        (.string("é"), #"string_value: "é""#),
        (.bytes([0, 255]), #"bytes_value: "\000\377""#),
        (.reference(ResourceName("r")), #"reference_value: "r""#),
        (
            .geoPoint(GeoPoint(latitude: 1, longitude: -2)),
            "geo_point_value { latitude: 1.0 longitude: -2.0 }"
        ),
        (
            .array([.integer(1), .null]),
            "array_value { values { integer_value: 1 } values { null_value: NULL_VALUE } }"
        ),
        (.array([]), "array_value { }"),
        (
            .map(["b": 1, "a": 2]),
            #"map_value { fields { key: "a" value { integer_value: 2 } } "#
                + #"fields { key: "b" value { integer_value: 1 } } }"#
        ),
        (
            .vector([1, 2]),
            #"map_value { fields { key: "__type__" value { string_value: "__vector__" } } "#
                + #"fields { key: "value" value { array_value { "#
                + "values { double_value: 1.0 } values { double_value: 2.0 } } } } }"
        ),
    ]

    @Test("Each type has its field", arguments: samples)
    func types(_ value: Value, _ text: String) throws {
        let coder = try testCoder()
        let message = try coder.encode(value)
        let words = message.textFormatString().split(whereSeparator: \.isWhitespace)
        #expect(words.joined(separator: " ") == text)
        guard value.type != .reference else { return }
        #expect(try coder.decode(try sent(message)) == value)
    }

    @Test("Values that exist only locally are not sent")
    func local() throws {
        let coder = try testCoder()
        let pending = Value.serverTimestamp(PendingServerTimestamp(localWriteTime: .epoch))
        for value in [pending, .array([.map(["a": pending])]), .max] {
            expectError(.invalidArgument, "cannot be sent") { _ = try coder.encode(value) }
        }
        let record = try Record(["a": .map(["b": pending])])
        expectError(.invalidArgument, "pending") {
            _ = try coder.encode(record, at: try DocumentPath("c/d"))
        }
    }

    @Test("Maps and arrays are nested 20 levels, as a store takes them")
    func depth() throws {
        let coder = try testCoder()
        for isMap in [false, true] {
            for depth in [20, 21] {
                var value = Value.integer(1)
                for _ in 0..<depth { value = isMap ? .map(["a": value]) : .array([value]) }
                let record = try Record(["f": value])
                let message = try sent(try coder.encode(record, at: try DocumentPath("c/d")))
                let stored = Result {
                    try record.checkLimits(maxDepth: 20, maxBytes: 1 << 20)
                }
                if depth == 20 {
                    try stored.get()
                    #expect(try coder.decode(message).record == record)
                } else {
                    #expect(throws: LarderError.self) { try stored.get() }
                    expectError(.invalidArgument, "deeper than 20 levels") {
                        _ = try coder.decode(message)
                    }
                    expectError(.invalidArgument, "deeper than 20 levels") {
                        _ = try coder.decode(message.fields[0].value)
                    }
                }
            }
        }
    }

    @Test("Nesting beyond the limit of messages is malformed")
    func endlessNesting() throws {
        // Each level is an array in a value: two lengths around what was there before.
        var bytes: [UInt8] = []
        for _ in 0..<60 {
            bytes = [0x0a, UInt8(bytes.count)] + bytes
            bytes = [0x4a, UInt8(bytes.count)] + bytes
            if bytes.count > 120 { break }
        }
        _ = try? Google_Firestore_V1_Value(serializedBytes: bytes)
        var long: [UInt8] = []
        for _ in 0..<2_000 {
            for tag in [0x0a, 0x4a] as [UInt8] {
                var (length, prefix) = (long.count, [tag])
                while length >= 0x80 {
                    prefix.append(UInt8(length & 0x7f) | 0x80)
                    length >>= 7
                }
                long = prefix + [UInt8(length)] + long
            }
        }
        #expect(throws: BinaryDecodingError.self) {
            try Google_Firestore_V1_Value(serializedBytes: long)
        }
    }

    @Test("A document is as large as Firestore lets it be")
    func size() throws {
        let coder = try testCoder()
        let path = try DocumentPath("c/d")
        for (count, isTaken) in [(1_048_573, true), (1_048_574, true), (1_048_575, false)] {
            let record = try Record(["f": .string(String(repeating: "a", count: count - 1))])
            #expect(record.sizeBytes == Int64(count) + 2)
            let message = try coder.encode(record, at: path)
            if isTaken {
                #expect(try coder.decode(message).record == record)
            } else {
                expectError(.invalidArgument, "the limit is 1048576") {
                    _ = try coder.decode(message)
                }
            }
        }
    }

    @Test("Values that break a bound are refused, with the reason")
    func bounds() throws {
        let coder = try testCoder()
        func refuse(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_Value) -> Void
        ) {
            let value = message(set)
            expectError(.invalidArgument, words, { _ = try coder.decode(value) }, at: location)
        }
        refuse("no type") { _ in }
        refuse("no type") { $0.arrayValue.values = [.init()] }
        let range = Timestamp.validSeconds
        refuse("out of the years") { $0.timestampValue.seconds = range.lowerBound - 1 }
        refuse("out of the years") { $0.timestampValue.seconds = range.upperBound + 1 }
        refuse("out of the years") { $0.timestampValue.nanos = -1 }
        refuse("out of the years") { $0.timestampValue.nanos = 1_000_000_000 }
        refuse("geo point") { $0.geoPointValue.latitude = 90.1 }
        refuse("geo point") { $0.geoPointValue.longitude = -180.1 }
        refuse("geo point") { $0.geoPointValue.latitude = .nan }
        for name in [
            "", "x", "c/d", testRoot, "\(testRoot)/c", "\(testRoot)/c/d/", "\(testRoot)//c/d",
            "\(testRoot)/c//d", "projects//databases/d/documents/c/d",
        ] { refuse("does not name a document") { $0.referenceValue = name } }
        refuse("comes twice") {
            $0.mapValue.fields = [entry("a", message { $0.integerValue = 1 })]
            $0.mapValue.fields += $0.mapValue.fields
        }
        refuse("") { $0.mapValue.fields = [entry("", message { $0.integerValue = 1 })] }
        refuse("") {
            let name = String(repeating: "n", count: 1501)
            $0.mapValue.fields = [entry(name, message { $0.integerValue = 1 })]
        }
        let vector = entry("__type__", message { $0.stringValue = "__vector__" })
        refuse("missing key 'value'") { $0.mapValue.fields = [vector] }
        refuse("missing key 'value'") {
            $0.mapValue.fields = [vector, entry("value", message { $0.stringValue = "" })]
        }
        refuse("extraneous entries") {
            let list = entry("value", message { $0.arrayValue = .init() })
            $0.mapValue.fields = [vector, list, entry("more", message { $0.integerValue = 1 })]
        }
        refuse("values of type 'double'") {
            let list = message { $0.arrayValue.values = [message { $0.integerValue = 1 }] }
            $0.mapValue.fields = [entry("value", list), vector]
        }
    }

    @Test("A vector may come with its entries in any order, and be empty")
    func vectors() throws {
        let coder = try testCoder()
        let type = entry("__type__", message { $0.stringValue = "__vector__" })
        let list = entry("value", message { $0.arrayValue = .init() })
        for fields in [[type, list], [list, type]] {
            #expect(try coder.decode(message { $0.mapValue.fields = fields }) == .vector([]))
        }
        let other = entry("__type__", message { $0.stringValue = "else" })
        #expect(
            try coder.decode(message { $0.mapValue.fields = [other] })
                == .map(["__type__": "else"]))
    }

    @Test("A coder works on after an error")
    func afterError() throws {
        let coder = try testCoder()
        let bad = message { $0.arrayValue.values = [message { $0.mapValue.fields = [.init()] }] }
        for _ in 0..<3 {
            #expect(throws: LarderError.self) { try coder.decode(bad) }
            #expect(try coder.decode(message { $0.integerValue = 1 }) == 1)
        }
    }
}
