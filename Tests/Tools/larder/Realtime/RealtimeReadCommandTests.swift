import Foundation
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimeGetCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
        try store.importScores()
    }

    @Test func `data is printed indented, priorities as members`() throws {
        try store.output(
            "set", "users/ada", #"{"name":"Ada","tags":["x",null,"y"],".priority":3}"#)
        #expect(
            try store.output("get", "users/ada") == """
                {
                  ".priority": 3,
                  "name": "Ada",
                  "tags": {
                    "0": "x",
                    "2": "y"
                  }
                }

                """)
        try store.output("set", "leaf", "1.5", "--priority", "first")
        #expect(try store.output("get", "leaf") == #"{".priority":"first",".value":1.5}"# + "\n")
        #expect(try store.output("get", "scores/pterodactyl", "/scores/stegosaurus/") == "93\n5\n")
    }

    @Test func `--json prints an object per location, with what is known of it`() throws {
        let result = try store.run("get", "scores/linhenykus", "/", "nothing", "--json")
        #expect(result.status == 1, "\(result)")
        #expect(result.messages == "larder: 'nothing' has no data\n")
        let objects = try result.lines.map { line in
            try #require(
                JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(objects.map { $0["path"] as? String } == ["scores/linhenykus", "/", "nothing"])
        #expect(objects.map { $0["exists"] as? Bool } == [true, true, false])
        #expect(objects.allSatisfy { $0["isComplete"] as? Bool == true })
        #expect(objects[0]["value"] as? Int == 80)
        #expect((objects[1]["value"] as? [String: [String: Int]])?["scores"]?.count == 6)
        #expect(objects[2]["value"] is NSNull)
    }

    @Test func `without a backend a part that is cached is printed with a warning`() async throws {
        let store = try RealtimeToolFolder()
        try await store.cacheBestScores(4)
        let whole = try store.run("get", "scores")
        #expect(whole.status == 0, "\(whole)")
        #expect(whole.output.contains("pterodactyl") && !whole.output.contains("stegosaurus"))
        #expect(whole.messages.contains("does not hold all of 'scores'"), "\(whole)")
        let other = try store.run("get", "users")
        #expect(other.status == 1 && other.output == "", "\(other)")
        #expect(other.messages == "larder: 'users' is not in the cache\n")
    }

    @Test(arguments: ["a.b", "a$", "a/[b]", "a#b", String(repeating: "k", count: 769)])
    func `an invalid path is a usage error that says why`(path: String) throws {
        let result = try store.run("get", path)
        expectError(result, 64, "'\(path)': the path ")
        expectError(try store.run("watch", path), 64, "the query of '\(path)': the path ")
        expectError(try store.run("export", path), 64, "'\(path)': the path ")
    }
}

@Suite(.timeLimit(.minutes(10))) struct RealtimeQueryCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
        try store.importScores()
    }

    private func keys(_ arguments: String...) throws -> [String] {
        let result = try Tool.run(
            ["rtdb", "query"] + arguments + ["--json", "--store", store.folder.store],
            in: store.folder)
        #expect(result.status == 0, "\(result)")
        return try result.lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require((object as? [String: Any])?["key"] as? String)
        }
    }

    @Test func `children are printed in the order of the query`() throws {
        #expect(
            try store.output("query", "scores", "--order-by-value", "--limit-to-last", "3") == """
                KEY                VALUE
                bruhathkayosaurus  55
                linhenykus         80
                pterodactyl        93

                """)
        #expect(
            try store.output(
                "query", "scores", "--order-by-value", "--limit-to-first", "1", "--json")
                == #"{"key":"stegosaurus","value":5}"# + "\n")
    }

    @Test func `bounds and orders are those of the database`() throws {
        #expect(
            try keys("scores", "--order-by-value", "--start-at", "22", "--end-before", "80")
                == ["triceratops", "bruhathkayosaurus"])
        #expect(
            try keys("scores", "--order-by-value", "--start-after", "22", "--end-at", "80")
                == ["bruhathkayosaurus", "linhenykus"])
        #expect(try keys("scores", "--order-by-value", "--equal-to", "5") == ["stegosaurus"])
        #expect(
            try keys("scores", "--order-by-key", "--start-after", "linhenykus")
                == ["pterodactyl", "stegosaurus", "triceratops"])
        try store.output(
            "set", "dinosaurs",
            #"{"a":{"size":{"height":3}},"b":{"size":{"height":-2.5}},"c":{"size":{"height":3}}}"#)
        #expect(
            try keys("dinosaurs", "--order-by", "size/height", "--start-at", "-3")
                == ["b", "a", "c"])
        #expect(
            try keys(
                "dinosaurs", "--order-by", "size/height", "--start-at", "3", "--start-key", "b")
                == ["c"])
        try store.output("update", "dinosaurs", "c/.priority=1")
        #expect(try keys("dinosaurs", "--equal-to", "1") == ["c"])
        #expect(try keys("dinosaurs", "--order-by-priority") == ["a", "b", "c"])
    }

    @Test func `the cache answers the best 4, 2 and 6 without a backend`() async throws {
        let store = try RealtimeToolFolder()
        try await store.cacheBestScores(4)
        func query(_ count: String) throws -> ToolResult {
            try store.run("query", "scores", "--order-by-value", "--limit-to-last", count)
        }
        for (count, lines, isComplete) in [("4", 5, true), ("2", 3, false), ("6", 5, false)] {
            let result = try query(count)
            #expect(result.status == 0 && result.lines.count == lines, "\(result)")
            #expect(result.messages.contains("the server may have more") != isComplete)
        }
        let other = try store.run("query", "users", "--order-by-key")
        #expect(other.status == 1 && other.output == "", "\(other)")
        #expect(other.messages == "larder: nothing of 'users' is in the cache\n")
    }

    @Test func `a query without a result says so`() throws {
        let result = try store.run("query", "scores", "--order-by-value", "--start-at", "100")
        #expect(result.status == 0 && result.output == "", "\(result)")
        #expect(result.messages == "larder: no child of 'scores' matches\n")
    }

    @Test(arguments: [
        ["--order-by-key", "--order-by-value"], ["--start-at", "1", "--start-after", "1"],
        ["--end-at", "1", "--end-before", "1"], ["--limit-to-first", "1", "--limit-to-last", "1"],
        ["--start-key", "a"], ["--end-key", "a"], ["--limit-to-last", "-1"],
        ["--limit-to-last", "0"], ["--limit-to-first", "x"], ["--order-by", "a.b"],
        ["--order-by", ""], ["--equal-to", "1", "--start-at", "1"],
    ])
    func `an invalid query is a usage error`(arguments: [String]) throws {
        let result = try Tool.run(
            ["rtdb", "query", "scores"] + arguments + ["--store", store.folder.store],
            in: store.folder)
        expectError(result, 64, ": error: ")
    }
}

@Suite(.timeLimit(.minutes(10))) struct RealtimeExportCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
        try store.importScores()
    }

    @Test func `an export is imported unchanged, with priorities`() throws {
        try store.output(
            "set", "odd",
            #"{"a":{".value":1,".priority":"p"},"b":[1,2],"c":{"d":-0.5,".priority":2},"e":"ü\n"}"#)
        let file = store.folder.path + "/all.json"
        #expect(
            try store.output("export", "--output", file)
                == "exported 11 values of / to \(file)\n")
        let other = try RealtimeToolFolder()
        try other.output("import", file)
        #expect(try other.output("export") == store.output("export"))
        #expect(
            try store.output("export", "odd")
                == #"{"b":{"0":1,"1":2},"e":"ü\n","c":{".priority":2,"d":-0.5},"#
                + #""a":{".priority":"p",".value":1}}"# + "\n")
        #expect(try store.output("export", "nothing") == "null\n")
        try other.expectNoProblems()
    }

    @Test func `a summary is printed as JSON`() throws {
        let file = store.folder.path + "/scores.json"
        let result = try store.run("export", "scores", "-o", file, "--json")
        #expect(
            try result.json() as NSDictionary
                == ["path": "scores", "valueCount": 6, "file": file] as NSDictionary)
        #expect(try store.folder.content("scores.json") == RealtimeToolFolder.scores + "\n")
    }

    @Test func `a file that cannot be written is an error and leaves nothing`() throws {
        let result = try store.run("export", "-o", "missing/all.json")
        #expect(result.status == 73 && result.output == "", "\(result)")
        #expect(result.messages.hasPrefix("larder: error: "), "\(result)")
    }

    @Test func `an incomplete export is a finding, one of nothing an error`() async throws {
        let store = try RealtimeToolFolder()
        try await store.cacheBestScores(2)
        let part = try store.run("export", "scores")
        #expect(part.status == 1 && part.output == #"{"linhenykus":80,"pterodactyl":93}"# + "\n")
        #expect(part.messages.contains("does not hold all of 'scores'"), "\(part)")
        expectError(try store.run("export", "users"), 66, "'users' is not in the cache")
    }
}
