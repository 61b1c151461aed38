import LarderCore
import LarderModel
import LarderSharedTestSupport
import Testing

@testable import LarderDocumentJSON

/// The entries of a text as a map.
func read(
    _ text: String, timestamps: Bool = false, typed: Bool = true
) throws(JSONError) -> MapValue {
    var options = TypedJSONReader.Options()
    options.readsTimestamps = timestamps
    options.readsTypedForms = typed
    let bytes = Array(text.utf8)
    let result: Result<MapValue, JSONError> = bytes.withUnsafeBufferPointer { buffer in
        Result { () throws(JSONError) in
            try TypedJSONReader.map(
                of: try TypedJSONReader.readObject(buffer, options: options), at: 0)
        }
    }
    return try result.get()
}

/// The value of the text as a member.
func value(of text: String, timestamps: Bool = false, typed: Bool = true) throws -> Value? {
    try read("{\"v\":\(text)}", timestamps: timestamps, typed: typed)["v"]
}

/// Why a text is refused.
private func failure(_ text: String) -> JSONError? {
    do throws(JSONError) {
        _ = try read(text)
        return nil
    } catch {
        return error
    }
}

@Suite struct TypedJSONReaderTests {
    @Test func `characters of all planes are read, escaped or not`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let (name, text) = (random.nameOfAllPlanes(), random.textOfAllPlanes())
            let map = try read("{\(random.json(name)):\(random.json(text))}")
            #expect(map == [name: .string(text)], "\(random)")
        }
    }

    @Test func `numbers without fraction that fit 64 bits are integers, all others doubles`() throws
    {
        let expected: [(String, Value)] = [
            ("0", .integer(0)), ("-0", .integer(0)), ("7", .integer(7)), ("-12", .integer(-12)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("1.0", .double(1)), ("-0.0", .double(-0.0)), ("1e3", .double(1000)),
            ("1E-2", .double(0.01)), ("2.5e+1", .double(25)),
            ("5e-324", .double(.leastNonzeroMagnitude)),
            ("12345678901234567890123", .double(1.2345678901234568e22)),
        ]
        for (text, number) in expected { #expect(try value(of: text) == number, "\(text)") }
    }

    @Test func `words, strings, arrays and maps are read`() throws {
        #expect(try value(of: "null") == .null)
        #expect(try value(of: "true") == .boolean(true))
        #expect(try value(of: " false ") == .boolean(false))
        #expect(try value(of: "[]") == .array([]))
        #expect(try value(of: "{}") == .map([:]))
        #expect(
            try value(of: #"[1, "a", {"b" : [ null ]}]"#)
                == .array([.integer(1), .string("a"), .map(["b": .array([.null])])]))
        #expect(try read(" {\t\"a\" :\r\n1 } ") == ["a": .integer(1)])
    }

    @Test func `escapes are resolved, surrogate pairs become one character`() throws {
        #expect(try value(of: #""\"\\\/\b\f\n\r\t""#) == .string("\"\\/\u{8}\u{C}\n\r\t"))
        #expect(try value(of: #""a\u00e9\u4E2D\uD83D\uDE00z""#) == .string("aé中😀z"))
        #expect(try value(of: #""\u0000""#) == .string("\0"))
        #expect(try read(#"{"\u0061":1}"#) == ["a": .integer(1)])
    }

    @Test(arguments: [
        ("", 0), ("[1]", 0), ("1", 0), ("{", 1), (#"{"a"}"#, 4), (#"{"a":}"#, 5),
        (#"{"a":1,}"#, 7), (#"{"a":1 "b":2}"#, 7), (#"{a:1}"#, 1), (#"{"a":1}x"#, 7),
        (#"{"a":01}"#, 5), (#"{"a":1.}"#, 7), (#"{"a":-}"#, 6), (#"{"a":.5}"#, 5),
        (#"{"a":1e}"#, 7), (#"{"a":+1}"#, 5), (#"{"a":0x1}"#, 6), (#"{"a":NaN}"#, 5),
        (#"{"a":nul}"#, 5), (#"{"a":tru"#, 5), (#"{"a":"b}"#, 8), (#"{"a":"\x"}"#, 7),
        (#"{"a":"\u12g4"}"#, 10), (#"{"a":"\uD800"}"#, 8), (#"{"a":"\uDC00"}"#, 8),
        (#"{"a":"\uD800\u0041"}"#, 8), (#"{"a":[1,]}"#, 8), (#"{"a":[1"#, 7), (#"{"a":[1 2]}"#, 8),
        ("{\"a\":\"b\u{1}\"}", 7), (#"{"a":'b'}"#, 5), (#"{"a":1e999}"#, 5),
    ])
    func `text that is no JSON is refused with the place`(text: String, offset: Int) {
        let failure = failure(text)
        #expect(failure?.offset == offset, "\(text): \(String(describing: failure))")
        #expect(failure?.reason.isEmpty == false)
    }

    @Test func `bytes that are no UTF-8 are refused`() throws {
        for bad: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0xAF]] {
            let bytes = Array(#"{"a":""#.utf8) + bad + Array(#""}"#.utf8)
            #expect(throws: JSONError.self) {
                try bytes.withUnsafeBufferPointer {
                    _ = try TypedJSONReader.readObject($0, options: TypedJSONReader.Options())
                }
            }
        }
    }

    @Test func `a name that is there twice is refused at any depth`() {
        #expect(failure(#"{"a":1,"a":2}"#)?.reason.contains("'a'") == true)
        #expect(failure(#"{"m":{"b":1,"\u0062":2}}"#)?.reason.contains("'b'") == true)
        #expect(failure(#"{"é":1,"e\#u{301}":2}"#) == nil, "names are distinguished by their bytes")
    }

    @Test func `nesting beyond the reader's bound is refused, not followed`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(failure("{\"a\":\(deep)")?.reason == "nested too deep")
    }
}
