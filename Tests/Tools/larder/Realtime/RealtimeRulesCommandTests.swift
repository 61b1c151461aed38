import Foundation
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimeRulesCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let damaged = """
        {"rules": {
          "users": {"$uid": {
            ".read": "auth.uid == $uid", // fine
            ".write": "auth.uid == user"}},
          ".validate": 7}}
        """

    private func run(_ arguments: String..., input: String = "") throws -> ToolResult {
        try Tool.run(["rtdb", "rules", "check"] + arguments, in: folder, input: input)
    }

    @Test func `problems are listed with file, line and column`() throws {
        let file = try folder.file("database.rules.json", Self.damaged)
        let result = try run(file)
        #expect(result.status == 1 && result.messages == "", "\(result)")
        #expect(
            result.output == """
                \(file):4:28: /users/$uid/.write: the variable 'user' is unknown
                \(file):5:16: /.validate: a rule is true, false or an expression in a string

                """)
    }

    @Test func `rules without problems have status 0`() throws {
        let result = try run("-", input: #"{"rules": {".read": "auth != null"}} // all"#)
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "no problems: standard input\n")
    }

    @Test func `--json prints an object with the problems`() throws {
        let result = try run("-", "--json", input: Self.damaged)
        #expect(result.status == 1, "\(result)")
        let json = try result.json()
        #expect(json["problemCount"] as? Int == 2)
        let problems = try #require(json["problems"] as? [[String: Any]])
        #expect(problems[0]["line"] as? Int == 4)
        #expect(problems[0]["column"] as? Int == 28)
        #expect(problems[0]["rule"] as? String == "/users/$uid/.write")
        #expect(problems[0]["message"] as? String == "the variable 'user' is unknown")
        #expect(
            try run("-", "--json", input: #"{"rules": {}}"#).json()["problemCount"] as? Int == 0)
    }

    @Test func `a missing file and one that is no text are errors`() throws {
        expectError(try run(folder.store + "/none.json"), 66, "none.json")
        expectError(try run(), 64, "file")
        #expect(try run("-", input: "no JSON").output.hasPrefix("standard input:1:1: expected"))
    }
}
