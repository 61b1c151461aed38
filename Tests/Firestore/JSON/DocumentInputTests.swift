import Testing

@testable import LarderDocumentJSON

/// What an input gives for a text, a line each: the number, the key, the text.
private func pieces(
    _ text: String, layout: DocumentInput.Layout? = nil, prefersJSON: Bool = false
) throws -> [String] {
    try pieces(bytes: Array(text.utf8), layout: layout, prefersJSON: prefersJSON)
}

private func pieces(
    bytes: [UInt8], layout: DocumentInput.Layout? = nil, prefersJSON: Bool = false,
    maxBytes: Int = DocumentInput.maxPieceBytes, partBytes: Int = .max
) throws -> [String] {
    var rest = bytes[...]
    let input = DocumentInput(layout: layout, prefersJSON: prefersJSON, maxBytes: maxBytes) {
        let part = rest.prefix(min(partBytes, $0.count))
        $0.copyBytes(from: part)
        rest = rest.dropFirst(part.count)
        return part.count
    }
    var found: [String] = []
    while true {
        switch try input.next() {
        case .end:
            #expect(input.consumedBytes == Int64(bytes.count))
            return found
        case .tooLarge(let line): found.append("\(line): too large")
        case .piece(let piece):
            let key = piece.key.map { String(decoding: $0, as: UTF8.self) + " = " } ?? ""
            found.append("\(piece.line): \(key)\(String(decoding: piece.text, as: UTF8.self))")
        }
    }
}

@Suite struct DocumentInputTests {
    @Test func `lines are numbered, blank ones are passed over`() throws {
        #expect(
            try pieces("{\"a\":1}\n\n  \t\n{\"b\":2}\r\n{\"c\":3}") == [
                "1: {\"a\":1}", "4: {\"b\":2}\r", "5: {\"c\":3}",
            ])
        #expect(try pieces("") == [])
        #expect(try pieces("\n \n") == [])
        #expect(try pieces("\u{FEFF}{\"a\":1}\n") == ["1: {\"a\":1}"])
    }

    @Test func `a wrong line is one piece, the next line another`() throws {
        #expect(
            try pieces("{\"a\":1}\nnonsense {\n{\"b\":\"}\n{}\n", layout: .ndjson) == [
                "1: {\"a\":1}", "2: nonsense {", "3: {\"b\":\"}", "4: {}",
            ])
    }

    @Test func `members of an array are cut out`() throws {
        #expect(try pieces("[]") == [])
        #expect(
            try pieces(" [ {\"a\":\"]\\\"},{\"} ,\n{\"b\":[1,{}]}\n, 3, \"x\" ,nope]\n") == [
                "1: {\"a\":\"]\\\"},{\"}", "2: {\"b\":[1,{}]}", "3: 3", "3: \"x\"", "3: nope",
            ])
    }

    @Test func `members of an object come with their keys`() throws {
        #expect(
            try pieces("{\n \"k1\" : {\"a\":1},\n \"k\\\"2\"\n:\n{}\n}") == [
                "2: \"k1\" = {\"a\":1}", "5: \"k\\\"2\" = {}",
            ])
        #expect(try pieces("{}", layout: .json) == [])
    }

    @Test func `the text decides between lines and one object`() throws {
        #expect(try pieces("{\"a\":{}}") == ["1: {\"a\":{}}"])
        #expect(try pieces("{\"a\":{}}", prefersJSON: true) == ["1: \"a\" = {}"])
        #expect(try pieces("{\"a\":{}}\n{}\n", prefersJSON: true) == ["1: {\"a\":{}}", "2: {}"])
        #expect(try pieces("{\"a\":\n{}}") == ["2: \"a\" = {}"])
        #expect(try pieces("{\"a\":{}}", layout: .json) == ["1: \"a\" = {}"])
    }

    @Test(arguments: [
        "[{}", "[{},]", "[{} {}]", "[{}]]", "[{}] x", "[", "[}", "{\"a\" 1}\n", "{\"a\":1,\n}",
        "{\n\"a\":}", "{\n1:2}", "{\n\"a\":1", "x", "\"a\"",
    ])
    func `broken text between documents ends the input`(text: String) throws {
        #expect(throws: DocumentInput.Broken.self, "\(text)") {
            let found = try pieces(text, layout: .json)
            Issue.record("read as \(found)")
        }
    }

    @Test func `compressed and UTF-16 input is named`() {
        for bytes: [UInt8] in [
            [0x1F, 0x8B, 8, 0], [0x28, 0xB5, 0x2F, 0xFD], [0xFF, 0xFE, 0x7B, 0],
        ] {
            #expect(throws: DocumentInput.Broken.self) { try pieces(bytes: bytes) }
        }
    }

    @Test func `documents larger than the buffer are found whole in any layout`() throws {
        let long = "{\"a\":\"" + String(repeating: "0123456789", count: 120_000) + "\"}"
        #expect(try pieces(long + "\n{}\n") == ["1: " + long, "2: {}"])
        #expect(try pieces("[" + long + ",{}]") == ["1: " + long, "1: {}"])
        #expect(
            try pieces("{\"k\":" + long + ",\"l\":{}}", layout: .json) == [
                "1: \"k\" = " + long, "1: \"l\" = {}",
            ])
    }

    @Test func `a piece beyond the bound is passed over, the rest goes on`() throws {
        let huge =
            "{\"a\":\"" + String(repeating: "x", count: DocumentInput.maxPieceBytes) + "\"}"
        #expect(try pieces("{}\n" + huge + "\n{}\n") == ["1: {}", "2: too large", "3: {}"])
        #expect(try pieces("[{},\n" + huge + "\n,{}]") == ["1: {}", "2: too large", "3: {}"])
        #expect(try pieces("{}\n" + huge) == ["1: {}", "2: too large"])
    }

    @Test func `the bound can be chosen`() throws {
        let text = Array("{\"a\":\"bcd\"}\n{\"a\":\"b\"}\n".utf8)
        #expect(try pieces(bytes: text, layout: .ndjson, maxBytes: 11).count == 2)
        #expect(
            try pieces(bytes: text, layout: .ndjson, maxBytes: 10) == [
                "1: too large", "2: {\"a\":\"b\"}",
            ])
    }

    @Test(arguments: [1, 7, 4096])
    func `cuts between reads of a pipe change nothing`(partBytes: Int) throws {
        let lines = (0..<2000).map { "{\"id\":\"d\($0)\",\"n\":\($0)}" }
        let expected = lines.enumerated().map { "\($0 + 1): \($1)" }
        let text = Array(lines.joined(separator: "\n").utf8)
        #expect(try pieces(bytes: text, partBytes: partBytes) == expected)
    }
}
