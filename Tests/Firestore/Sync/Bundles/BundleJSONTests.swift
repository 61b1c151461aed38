import LarderCore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("JSON of bundles")
struct BundleJSONTests {
    @Test("texts of RFC 8259 are read")
    func valid() throws {
        let node = try parse(
            #" {"a" : [1, -0.5e+3,0 ,"x\n\u00e9\ud83d\ude00\/"], "b":{}, "c":[ ],"d":null,"#
                + #""e":true,"f":false, "a\u0062":"é" }"# + "\n")
        guard case .array(let elements) = try #require(node.member("a")) else {
            Issue.record("\(node)")
            return
        }
        #expect(try elements[0].integer() == 1 && elements[1].double() == -500)
        guard case .string(let text) = elements[3] else { return }
        #expect(text == "x\né😀/")
        #expect(node.member("d") == nil && node.member("z") == nil)
        #expect(try node.boolean("e") && !node.boolean("f") && !node.boolean("z"))
        #expect(try node.string("ab") == "é" && node.string("z") == "")
        #expect(try node.members("b").isEmpty && node.array("c").isEmpty)
    }

    @Test("characters of all planes are read, escaped or not")
    func planes() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let (name, text) = (random.textOfAllPlanes(), random.textOfAllPlanes())
            let node = try parse("{\(random.json(name)):\(random.json(text))}")
            #expect(node == .object([JSONMember(name, .string(text))]), "\(random)")
        }
    }

    @Test("Names are distinguished by their bytes; of equal ones the last is used")
    func names() throws {
        let node = try parse(#"{"é":1,"e\#u{301}":2,"x":3,"x":4}"#)
        #expect(try node.integer("\u{e9}") == 1 && node.integer("e\u{301}") == 2)
        #expect(try node.integer("x") == 4)
    }

    @Test(
        "everything else is an error",
        arguments: [
            "", " ", "{", "}", "[", "]", "[1,]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#,
            #"{"a":1,}"#, #"{a:1}"#, "{1:1}", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1",
            "NaN", "Infinity", "tru", "truex", "nul", #"""#, #""\"#, #""\x""#, #""\u12""#,
            #""\u+123""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "\"\u{1}\"", "\"\n\"",
            "1 2", "{}{}", "'a'", "/**/1", "\u{feff}1",
            String(repeating: "[", count: 100_000),
            String(repeating: #"{"a":"#, count: 100_000),
        ])
    func invalid(_ text: String) throws {
        let error = #expect(throws: LarderError.self) { try parse(text) }
        #expect(error?.kind == .invalidArgument)
    }

    @Test("text that is not UTF-8 is an error")
    func encodings() {
        for bytes in [[0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]]
            as [[UInt8]]
        {
            #expect(throws: LarderError.self) { try parse(bytes) }
        }
    }

    @Test("nesting is read to its bound")
    func depth() throws {
        for (depth, isRead) in [(200, true), (201, false)] {
            let text =
                String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect(((try? parse(text)) != nil) == isRead)
        }
    }

    private func parse(_ text: String) throws -> JSONValue {
        try parse(Array(text.utf8))
    }

    private func parse(_ text: [UInt8]) throws -> JSONValue {
        try text.withUnsafeBytes { try JSONValue(bundled: $0) }
    }
}
