import LarderCore
import Testing

@testable import LarderServer

@Suite("Fields of documents as JSON")
struct JSONFieldsTests {
    private func entries(_ text: String) throws -> String {
        String(decoding: try JSONFields.entries(of: Array(text.utf8)), as: UTF8.self)
    }

    private func objects(_ text: String) throws -> String {
        String(decoding: try JSONFields.objects(of: Array(text.utf8)), as: UTF8.self)
    }

    @Test(
        "fields are an object for clients and entries for messages, at any depth",
        arguments: [
            (#"{"fields":{}}"#, #"{"fields":[]}"#),
            (
                #"{"fields":{"a":{"x":1},"b":{}}}"#,
                #"{"fields":[{"key":"a","value":{"x":1}},{"key":"b","value":{}}]}"#
            ),
            (
                #"[{"m":{"fields":{"fields":{"m":{"fields":{"é\n":null}}}}}}]"#,
                #"[{"m":{"fields":[{"key":"fields","value":{"m":{"fields":[{"key":"é\n","value":null}]}}}]}}]"#
            ),
            (
                #"{"fields":{"fields":{"arrayValue":{"values":[1,true]}}}}"#,
                #"{"fields":[{"key":"fields","value":{"arrayValue":{"values":[1,true]}}}]}"#
            ),
        ])
    func both(client: String, message: String) throws {
        #expect(try entries(client) == message)
        #expect(try objects(message) == client)
    }

    @Test(
        "anything else is copied",
        arguments: [
            #"{"select":{"fields":[{"fieldPath":"a"}]},"x":[-1.5e3,"\u00e9",false,null,[],{}]}"#,
            #"{"fields":"text"}"#, "1", #""a""#,
        ])
    func copied(text: String) throws {
        #expect(try entries(text) == text)
    }

    @Test("names of canonically equivalent spellings stay two")
    func spellings() throws {
        let text = "{\"fields\":{\"\u{e9}\":1,\"e\u{301}\":2}}"
        #expect(try entries(text).utf8.count > text.utf8.count)
        #expect(Array(try objects(entries(text)).utf8) == Array(text.utf8))
    }

    @Test("white space is left out")
    func space() throws {
        #expect(
            try entries(" { \"fields\" : { \"a\" : 1 } } ")
                == #"{"fields":[{"key":"a","value":1}]}"#)
    }

    @Test(
        "malformed text is refused",
        arguments: [
            "", "{", "{} {}", #"{"fields":{"a":1,}}"#, #"{"fields":{"a"}}"#, "[1 2]", "nul", "01",
            "\"\u{1}\"", String(repeating: "[", count: 10_000),
        ])
    func malformed(text: String) {
        #expect(throws: JSONError.self) { try entries(text) }
    }
}
