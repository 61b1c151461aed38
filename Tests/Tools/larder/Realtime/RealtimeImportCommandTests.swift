import Foundation
import LarderCore
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimeImportCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
    }

    /// About 4 MiB of JSON with rooms of messages.
    private static func rooms(_ count: Int) -> String {
        let text = String(repeating: "some words of text ", count: 10)
        let rooms = (0..<count).map { room in
            let messages = (0..<20).map { #""m\#($0)":{"from":"ada","text":"\#(text)\#($0)"}"# }
            return #""r\#(room)":{"messages":{\#(messages.joined(separator: ","))}}"#
        }
        return #"{"rooms":{\#(rooms.joined(separator: ","))},"version":3}"#
    }

    @Test func `a file replaces the data of a location`() throws {
        let file = try store.folder.file("scores.json", RealtimeToolFolder.scores)
        let text = try store.output("import", file, "scores")
        #expect(
            text.hasPrefix("imported \(file) into scores: 1 write acknowledged, "), "\(text)")
        #expect(try store.output("export", "scores") == RealtimeToolFolder.scores + "\n")
        try store.output("import", "-", "scores", input: #"{"a":1}"#)
        #expect(try store.output("export") == #"{"scores":{"a":1}}"# + "\n")
        try store.output("import", "-", input: "7")
        #expect(try store.output("export") == "7\n")
        try store.expectNoProblems()
    }

    @Test func `--merge keeps the children that the file does not have`() throws {
        try store.importScores()
        let json = try store.run(
            "import", "-", "scores", "--merge", "--json",
            input: #"{"stegosaurus":null,"new":{"a":1}}"#
        ).json()
        #expect(json["path"] as? String == "scores")
        #expect(json["writeCount"] as? Int == 1)
        #expect(json["state"] as? String == "acknowledged")
        let scores = try store.run("get", "scores", "--json").json()["value"] as? [String: Any]
        #expect(
            scores?.keys.sorted() == [
                "bruhathkayosaurus", "lambeosaurus", "linhenykus", "new", "pterodactyl",
                "triceratops",
            ])
        expectError(
            try store.run("import", "-", "scores", "--merge", input: "[1,2]"), 65,
            "not an object with children")
    }

    @Test func `a large file is several writes, and comes out as it was`() throws {
        let file = try store.folder.file("rooms.json", Self.rooms(1000))
        try store.output("import", "-", "rooms", input: #"{"old":1}"#)
        let json = try store.run("import", file, "--json").json()
        #expect(try #require(json["writeCount"] as? Int) >= 4)
        let exported = try store.output("export")
        let expected = try JSONSerialization.jsonObject(with: Data(Self.rooms(1000).utf8))
        let found = try JSONSerialization.jsonObject(with: Data(exported.utf8))
        #expect(found as? NSDictionary == expected as? NSDictionary)
        try store.expectNoProblems()
    }

    @Test func `without a backend the writes of an import are pending`() async throws {
        try await store.cacheBestScores(4)
        let result = try store.run("import", "-", "users", input: #"{"ada":{"age":36}}"#)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("1 write pending"), "\(result)")
        let pending = try store.output("pending")
        #expect(pending.contains(#"users = {"ada":{"age":36}}"#), "\(pending)")
    }

    @Test(arguments: [
        ("", 65, "line 1, column 1: "), ("{\"a\":1\n,}", 65, "line 2, column 2: "),
        ("{\"a\":1} 2", 65, "line 1, column 9: "), (#"{"a.b":1}"#, 65, "'scores': "),
        (#"{"a":1,"a":2}"#, 65, "line 1, column "), (#"{"a":1e999}"#, 65, "line 1, column "),
    ])
    func `invalid input is an error that says where`(input: String, status: Int32, text: String)
        throws
    {
        try store.importScores()
        let file = try store.folder.file("bad.json", input)
        expectError(try store.run("import", file, "scores"), status, text)
        #expect(try store.output("export", "scores") == RealtimeToolFolder.scores + "\n")
    }

    @Test func `a missing file and an invalid path are errors`() throws {
        expectError(try store.run("import", "missing.json"), 66, "missing.json")
        expectError(try store.run("import", "-", "a.b", input: "1"), 65, "'a.b': ")
    }
}

@Suite struct TreePiecesTests {
    private func pieces(_ text: String, _ maxBytes: Int) throws -> TreePieces {
        let value = try JSONValue(parsing: Array(text.utf8))
        return try TreePieces(of: [JSONMember("", value)], maxBytes: maxBytes)
    }

    private func paths(_ pieces: TreePieces) -> [String] {
        pieces.replacements.flatMap { $0.pieces.map(\.path) }
    }

    @Test func `what fits into one update is one piece`() throws {
        let pieces = try pieces(#"{"a":{"b":1},"c":[1,2]}"#, 1000)
        #expect(paths(pieces) == [""])
        #expect(pieces.replacements.allSatisfy { !$0.isDivided })
    }

    @Test func `larger values are divided by children, with the priority last`() throws {
        let long = String(repeating: "x", count: 40)
        let pieces = try pieces(
            #"{".priority":1,"a":{"b":"\#(long)","c":"\#(long)"},"d":["\#(long)","y"],"e":1}"#, 60)
        #expect(paths(pieces) == ["a/b", "a/c", "d", "e", ".priority"])
        #expect(pieces.replacements[0].isDivided)
        #expect(pieces.totalBytes == pieces.replacements[0].pieces.reduce(0) { $0 + $1.sizeBytes })
    }

    @Test func `single values are not divided, whatever their size`() throws {
        let long = String(repeating: "x", count: 400)
        #expect(try paths(pieces("\"\(long)\"", 10)) == [""])
        #expect(
            try paths(pieces(#"{"a":{".value":"\#(long)",".priority":1}}"#, 10)) == ["a"])
        #expect(try paths(pieces(#"{"a":{".sv":{"increment":1}},"b":{}}"#, 1)) == ["a", "b"])
    }

    @Test(arguments: [#"{"":1,"b":2}"#, #"{"a/b":1,"c":2}"#])
    func `names that are no keys are errors when they are on a path`(text: String) throws {
        #expect(throws: ToolError.self) { try pieces(text, 1) }
    }
}
