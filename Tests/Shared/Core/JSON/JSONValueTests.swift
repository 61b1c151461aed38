import LarderSharedTestSupport
import Testing

@testable import LarderCore

@Suite("JSON values")
struct JSONValueTests {
    @Test(
        "a number without fraction that fits 64 bits is an integer, any other a double",
        arguments: [
            ("0", .integer(0)), ("-0", .double(-0.0)), ("7", .integer(7)), ("-12", .integer(-12)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("99999999999999999999", .double(1e20)), ("1.0", .double(1)), ("-0.0", .double(-0.0)),
            ("1e3", .double(1000)), ("1E-2", .double(0.01)), ("2.5e+1", .double(25)),
            ("5e-324", .double(.leastNonzeroMagnitude)), ("1e-400", .double(0)),
            ("12345678901234567890123", .double(1.2345678901234568e22)),
            ("1e0000000000000000000000001", .double(10)), ("0e999999999999999999999", .double(0)),
            ("0.1", .double(0.1)), ("9007199254740993.0", .double(9_007_199_254_740_992)),
        ] as [(String, JSONValue)])
    func numbers(_ text: String, value: JSONValue) throws {
        #expect(try parse(text) == value)
        #expect(try parse("[\(text) ]") == .array([value]))
    }

    @Test("words, strings, arrays and objects are read; members keep their order")
    func structures() throws {
        #expect(
            try parse(" {\t\"b\" :\r\n[1, \"x\", { } , [ ]],\"a\":null,\"c\":true, \"d\":false } ")
                == .object([
                    JSONMember(
                        "b", .array([.integer(1), .string("x"), .object([]), .array([])])),
                    JSONMember("a", .null), JSONMember("c", .boolean(true)),
                    JSONMember("d", .boolean(false)),
                ]))
    }

    @Test("escapes are resolved wherever they stand, surrogate pairs become one character")
    func escapes() throws {
        #expect(try parse(#""\"\\\/\b\f\n\r\t""#) == .string("\"\\/\u{8}\u{C}\n\r\t"))
        #expect(try parse(#""a\u00e9\u4E2D\uD83D\uDE00z""#) == .string("aé中😀z"))
        for count in 0..<20 {
            let plain = String(repeating: "p", count: count)
            #expect(try parse("\"\(plain)\\n\(plain)é\"") == .string("\(plain)\n\(plain)é"))
            #expect(try parse("\"\(plain)\"") == .string(plain))
        }
    }

    @Test(
        "text that is no JSON is refused with its place and reason",
        arguments: [
            ("", 0, "the text ends where a value is expected"), (" ", 1, "the text ends"),
            ("{", 1, "the text ends inside an object"), ("}", 0, "expected a value"),
            ("[1,]", 3, "expected a value"), ("[1 2]", 3, "expected ',' or ']'"),
            ("[1", 2, "the text ends inside an array"), ("[,", 1, "expected a value"),
            (#"{"a"}"#, 4, "expected ':' after a name"), (#"{"a":}"#, 5, "expected a value"),
            (#"{"a":1,}"#, 7, "expected a name in quotes"), (#"{a:1}"#, 1, "expected a name"),
            (#"{"a":1 "b":2}"#, 7, "expected ',' or '}'"), (#"{"a":1"#, 6, "the text ends inside"),
            ("1 2", 2, "more text after the value"), ("truex", 4, "more text after the value"),
            ("01", 0, "a number begins with 0"), ("-01", 1, "a number begins with 0"),
            ("-", 1, "expected a digit"), ("1.", 2, "expected a digit"), ("1e+", 3, "expected a"),
            ("+1", 0, "expected a value"), (".5", 0, "expected a value"), ("0x1", 1, "more text"),
            ("1e999", 0, "the number 1e999 is too large"), ("NaN", 0, "expected a value"),
            ("tru", 0, "expected a value"), ("nulL", 0, "expected a value"),
            (#"""#, 1, "the text ends inside a string"), (#""\"#, 2, "the text ends inside a str"),
            (#""\x""#, 2, "an escape that JSON does not have"),
            (#""\u12g4""#, 5, "expected four hexadecimal digits"),
            (#""\u+123""#, 3, "expected four hexadecimal digits"),
            (#""\uD800""#, 3, "half of a surrogate pair"),
            (#""\uDC00""#, 3, "half of a surrogate pair"),
            (#""\uD800\u0041""#, 3, "half of a surrogate pair"),
            ("\"b\u{1}\"", 2, "a control character in a string"),
            ("\"\\n\n\"", 3, "a control character in a string"), ("'a'", 0, "expected a value"),
            ("/**/1", 0, "expected a value"), ("\u{feff}1", 0, "expected a value"),
        ])
    func refused(_ text: String, offset: Int, reason: String) {
        let error = #expect(throws: JSONError.self) { try parse(text) }
        #expect(error?.offset == offset)
        #expect(error?.reason.hasPrefix(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("bytes that are not UTF-8 are refused, in strings with and without escapes")
    func encodings() {
        for bad: [UInt8] in [
            [0xFF], [0xC3], [0x80], [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xF4, 0x90, 0x80, 0x80],
            [0xE4, 0xB8],
        ] {
            for text in ["", "abcdefgh", #"\n"#] {
                let bytes = Array("\"\(text)".utf8) + bad + Array("\"".utf8)
                let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
                #expect(error == JSONError(offset: 1, reason: "a string is not UTF-8"))
            }
        }
    }

    @Test("a replacement character in the text is text like any other")
    func replacementCharacters() throws {
        #expect(try parse("\"\u{FFFD}x\"") == .string("\u{FFFD}x"))
    }

    @Test("an error's line and column are counted from 1, in bytes")
    func places() {
        let text = Array("{\"é\": 1,\n  \"b\": x}".utf8)
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(error.map { $0.place(in: text) == (2, 8) } == true)
        #expect(JSONError(offset: 99, reason: "").place(in: "a\nb".utf8) == (2, 2))
    }

    @Test(
        "a name that is there twice is refused at any depth, in objects of any size",
        arguments: [0, 1, 5, 6, 7, 8, 40])
    func duplicateNames(_ others: Int) throws {
        let rest = (0..<others).map { "\"n\($0)\":\($0)" }
        for object in [["\"a\":1"] + rest + ["\"\\u0061\":2"], rest + ["\"a\":1", "\"a\":2"]] {
            let text = "[{\(object.joined(separator: ","))}]"
            let error = #expect(throws: JSONError.self) { try parse(text) }
            #expect(error == JSONError(offset: 1, reason: "duplicate name 'a'"))
            let kept = try JSONValue(parsing: Array(text.utf8), duplicateNames: .kept)
            guard case .array(let elements) = kept else { return }
            #expect(elements[0]["a"] == .integer(2), "the last counts")
        }
        let spellings = ["\"é\":1", "\"e\u{301}\":2"]
        #expect(throws: Never.self) {
            try parse("{\((rest + spellings).joined(separator: ","))}")
        }
    }

    @Test("nesting is read to its bound and refused beyond, without following it")
    func depth() throws {
        for (open, close) in [("[", "]"), (#"{"a":["#, "]}")] {
            let levels = open.count > 1 ? 2 : 1
            for (count, isRead) in [(20 / levels, true), (20 / levels + 1, false)] {
                let text =
                    String(repeating: open, count: count) + String(repeating: close, count: count)
                let value = try? JSONValue(parsing: Array(text.utf8), maximumDepth: 20)
                #expect((value != nil) == isRead)
            }
            let error = #expect(throws: JSONError.self) {
                try JSONValue(
                    parsing: Array(String(repeating: open, count: 1_000_000).utf8),
                    maximumDepth: .max)
            }
            #expect(error?.reason == "nested too deep")
        }
    }

    @Test("a value that is skipped ends where it ends when it is read")
    func skipping() throws {
        var random = SeededRandom()
        let texts = [
            #"{"a":[1,-2.5e3,"x\"]}"],"b":{"c\\\\":null,"d":[[],{}]}}"#, #""a\u00e9\\""#, "true",
            "-1",
            " [ ] ", #"["é",{"":0}]"#,
        ]
        for _ in 0..<5000 {
            var text = Array(random.pick(texts).utf8)
            if random.oneIn(2) { text.remove(at: random.below(text.count)) }
            let rest = random.oneIn(2) ? Array(",1]".utf8) : []
            let skipped = end(of: text + rest) { (reader) throws(JSONError) in
                try reader.skipValue()
            }
            let read = end(of: text + rest) { (reader) throws(JSONError) in
                _ = try JSONValue(reading: &reader)
            }
            // More texts can be skipped than are JSON.
            if let read { try #require(skipped == read, "\(text), \(random)") }
        }
        let open = Array(String(repeating: "[", count: 1_000_000).utf8)
        #expect(end(of: open) { (reader) throws(JSONError) in try reader.skipValue() } == nil)
    }

    /// The offset after the first value of a text; nil if it is refused.
    private func end(
        of text: [UInt8], _ read: (inout JSONReader) throws(JSONError) -> Void
    ) -> Int? {
        text.withUnsafeBytes { text in
            var reader = JSONReader(text)
            _ = reader.peek()
            do throws(JSONError) {
                try read(&reader)
                return reader.offset
            } catch {
                return nil
            }
        }
    }

    @Test("values are equal only if their texts are equivalent")
    func equality() throws {
        let texts = [
            "null", "true", "false", "1", "1.0", "0", "0.0", "-0.0", #""1""#, "[]", "{}", #"[""]"#,
            #""é""#, "\"e\u{301}\"", #"{"é":1}"#, "{\"e\u{301}\":1}", #"{"a":1,"b":2}"#,
            #"{"b":2,"a":1}"#,
        ]
        let values = try texts.map { try parse($0) }
        for (left, first) in values.enumerated() {
            for (right, second) in values.enumerated() {
                #expect((first == second) == (left == right), "\(texts[left]) \(texts[right])")
            }
        }
        #expect(JSONValue.double(.nan) == .double(.nan))
    }

    private func parse(_ text: String) throws(JSONError) -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }
}
