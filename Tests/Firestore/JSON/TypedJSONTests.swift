import LarderCore
import LarderModel
import Testing

@testable import LarderDocumentJSON

/// A value as JSON.
private func text(of value: Value) -> String {
    var bytes: [UInt8] = []
    JSONWriter.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
}

@Suite struct TypedJSONTests {
    static let values: [Value] = [
        .null, .boolean(true), .integer(0), .integer(.min), .integer(.max), .double(1),
        .double(-0.0), .double(0.1), .double(1e300), .double(.leastNonzeroMagnitude), .double(.nan),
        .double(.infinity), .double(-.infinity), .string(""), .string("a\"\\\n\u{1}\u{7F}é😀\0"),
        .timestamp(Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789)),
        .timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 0)),
        .timestamp(Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999)),
        .bytes([]), .bytes([0, 1, 254, 255]),
        .reference(ResourceName("projects/p/databases/(default)/documents/cities/SF")),
        .geoPoint(GeoPoint(latitude: -90, longitude: 180)),
        .geoPoint(GeoPoint(latitude: 37.77, longitude: -122.42)),
        .vector(VectorValue([])), .vector([1, -2.5, .nan]),
        .serverTimestamp(PendingServerTimestamp(localWriteTime: .epoch)),
        .array([]), .array([.integer(1), .geoPoint(GeoPoint(latitude: 1, longitude: 2))]),
        .map([:]), .map(["a": .bytes([1]), "b": .map(["c": .null])]),
        // Maps that look like one of the forms.
        .map(["latitude": .integer(1), "longitude": .double(2)]),
        .map(["latitude": .string("x"), "longitude": .double(2)]),
        .map(["$bytes": .string("aGVsbG8=")]), .map(["$map": .map(["$map": .integer(1)])]),
        .map(["$map": .map(["latitude": .integer(1), "longitude": .integer(2)])]),
        .map(["$map": .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "x": .integer(1)]),
        .map(["$other": .integer(1)]), .map(["$timestamp": .timestamp(.epoch)]),
    ]

    @Test(arguments: values)
    func `every value comes back as it was`(original: Value) throws {
        let written = text(of: original)
        #expect(try value(of: written) == original, "\(written)")
    }

    @Test func `the forms are as documented`() {
        #expect(text(of: .timestamp(.epoch)) == #"{"$timestamp":"1970-01-01T00:00:00Z"}"#)
        #expect(
            text(of: .geoPoint(GeoPoint(latitude: 37.5, longitude: -122)))
                == #"{"latitude":37.5,"longitude":-122.0}"#)
        #expect(text(of: .bytes(Array("hello".utf8))) == #"{"$bytes":"aGVsbG8="}"#)
        #expect(text(of: .vector([1, 2.5])) == #"{"$vector":[1.0,2.5]}"#)
        #expect(text(of: .double(.nan)) == #"{"$double":"NaN"}"#)
        #expect(text(of: .string("\u{7}\n\"")) == #""\u0007\n\"""#)
        #expect(
            text(of: .map(["$bytes": .integer(1)])) == #"{"$map":{"$bytes":1}}"#)
    }

    @Test func `exactly two numbers latitude and longitude are a geo point`() throws {
        let point = Value.geoPoint(GeoPoint(latitude: 1, longitude: 2))
        #expect(try value(of: #"{"latitude":1,"longitude":2.0}"#) == point)
        #expect(try value(of: #"{"longitude":2,"latitude":1}"#) == point)
        #expect(try value(of: #"{"latitude":1,"longitude":2,"z":3}"#)?.type == .map)
        #expect(try value(of: #"{"latitude":"1","longitude":2}"#)?.type == .map)
        #expect(try value(of: #"{"latitude":1,"longitude":2}"#, typed: false)?.type == .map)
        #expect(
            try read(#"{"latitude":1,"longitude":2}"#)
                == ["latitude": .integer(1), "longitude": .integer(2)], "a document stays one")
    }

    @Test(arguments: [
        #"{"latitude":91,"longitude":0}"#, #"{"latitude":0,"longitude":-181}"#,
        #"{"$timestamp":"yesterday"}"#, #"{"$timestamp":5}"#, #"{"$bytes":"a*"}"#,
        #"{"$bytes":1}"#, #"{"$vector":[1,"a"]}"#, #"{"$vector":1}"#, #"{"$double":"nan"}"#,
        #"{"$double":1}"#, #"{"$reference":1}"#, #"{"$map":1}"#, #"{"$serverTimestamp":1}"#,
    ])
    func `a form with the wrong content is refused`(text: String) throws {
        #expect(throws: JSONError.self) { try value(of: text) }
        #expect(try value(of: text, typed: false)?.type == .map)
    }

    @Test func `strings become timestamps on request`() throws {
        let text = #""2026-01-31T12:00:00+01:00""#
        #expect(try value(of: text)?.type == .string)
        #expect(
            try value(of: text, timestamps: true)
                == .timestamp(Timestamp(seconds: 1_769_857_200, nanoseconds: 0)))
        #expect(try value(of: #""2026-01-31""#, timestamps: true)?.type == .string)
        #expect(
            try value(of: #"{"$timestamp":"1970-01-01T00:00:00Z"}"#, timestamps: true)
                == .timestamp(.epoch))
    }
}
