import Foundation
import LarderRealtime
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimeWriteCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
        try store.importScores()
    }

    @Test func `data is set from an argument and from standard input`() throws {
        #expect(
            try store.output("set", "users/ada", #"{"name":"Ada"}"#)
                == "set users/ada: acknowledged by the backend\n")
        try store.output("set", "users/bob", "-", input: #"{"name": "Bob", "age": 36}"#)
        let negative = try Tool.run(
            [
                "rtdb", "set", "temperatures/oslo", "--priority", "-1", "--store",
                store.folder.store, "--", "-5",
            ], in: store.folder)
        #expect(negative.status == 0, "\(negative)")
        #expect(
            try store.output("export", "users")
                == #"{"ada":{"name":"Ada"},"bob":{"age":36,"name":"Bob"}}"# + "\n")
        #expect(
            try store.output("export", "temperatures")
                == #"{"oslo":{".priority":-1,".value":-5}}"# + "\n")
        try store.output("set", "users", "null")
        #expect(try store.output("export", "users") == "null\n")
        try store.expectNoProblems()
    }

    @Test func `the server computes times and increments`() throws {
        try store.output("set", "seen", #"{".sv": "timestamp"}"#)
        let seen = try #require(Int(try store.output("get", "seen").dropLast()))
        #expect(abs(Double(seen) / 1000 - Date().timeIntervalSince1970) < 3600)
        try store.output("set", "scores/stegosaurus", #"{".sv": {"increment": 2.5}}"#)
        #expect(try store.output("get", "scores/stegosaurus") == "7.5\n")
    }

    @Test func `an update changes several locations and leaves the others`() throws {
        #expect(
            try store.output(
                "update", "scores", "lambeosaurus=increment:4", "triceratops=delete:",
                "seen/at=now:", "note=best of all", "stegosaurus=6", #"list=[1,2]"#)
                == "updated scores: acknowledged by the backend\n")
        let all = try store.run("get", "scores", "--json").json()
        let scores = try #require(all["value"] as? [String: Any])
        #expect(scores["lambeosaurus"] as? Int == 25)
        #expect(scores["triceratops"] == nil)
        #expect((scores["seen"] as? [String: Int])?["at"] != nil)
        #expect(scores["note"] as? String == "best of all")
        #expect(scores["stegosaurus"] as? Int == 6)
        #expect(scores["pterodactyl"] as? Int == 93)
        try store.output("update", "/", #"{"scores/note":null,"users/ada":"x"}"#)
        #expect(try store.output("get", "users/ada") == "\"x\"\n")
        try store.output("update", "/", "-", input: #"{"users/bob": 1}"#)
        #expect(try store.output("export", "users") == #"{"ada":"x","bob":1}"# + "\n")
    }

    @Test func `pushed children have new keys in the order of their creation`() throws {
        var keys: [String] = []
        for number in 1...3 {
            let json = try store.run("push", "messages", "\(number)", "--json").json()
            #expect(json["state"] as? String == "acknowledged")
            let key = try #require(json["key"] as? String)
            #expect(json["path"] as? String == "messages/\(key)")
            keys.append(key)
        }
        #expect(keys == keys.sorted() && keys.allSatisfy { $0.utf8.count == 20 })
        let text = try store.output("push", "messages", "4")
        #expect(text.hasPrefix("pushed messages/-") && text.hasSuffix("the backend\n"))
        let values = try store.output("query", "messages", "--order-by-key", "--json")
        #expect(values.split(separator: "\n").map { $0.suffix(2) } == ["1}", "2}", "3}", "4}"])
    }

    @Test func `data is removed at and below locations`() throws {
        #expect(
            try store.output("rm", "scores/stegosaurus", "nothing")
                == "removed scores/stegosaurus: acknowledged by the backend\n"
                + "removed nothing: acknowledged by the backend\n")
        #expect(try store.run("get", "scores/stegosaurus").status == 1)
        try store.output("rm", "/")
        #expect(try store.output("export") == "null\n")
        try store.expectNoProblems()
    }

    @Test(arguments: [
        ["set", "scores/a", "{bad"], ["set", "scores/a", ""], ["set", "scores/a", "1 2"],
        ["set", "scores/a", #"{"b":1,"b":2}"#], ["set", "scores/a.b", "1"],
        ["set", "scores", #"{"a/b":1}"#], ["set", "scores", #"{"a$":1}"#],
        ["set", "scores", #"{"":1}"#], ["set", ".info/connected", "true"],
        ["set", "scores", #"{".sv":"nonsense"}"#], ["set", "scores", "1", "--priority", "true"],
        ["push", "scores", "nonsense"], ["push", "a#b", "1"], ["rm", "a.b"],
        ["update", "scores", "[1]", "-"], ["update", "scores", "{\"a\":1"],
        ["update", "scores", "a=1", "a/b=2"], ["update", "scores", "a=[1"],
    ])
    func `invalid data is an error, and nothing is written`(arguments: [String]) throws {
        let before = try store.output("export")
        let result = try Tool.run(
            ["rtdb"] + arguments + ["--store", store.folder.store], in: store.folder)
        let isUsage = arguments.contains("-")
        expectError(result, isUsage ? 64 : 65, ": error: ")
        #expect(try store.output("export") == before)
    }

    @Test(arguments: [
        ["set", "scores"], ["update", "scores"], ["update", "scores", "a"],
        ["update", "scores", "=1"], ["update", "scores", "a=1", "a=2"],
        ["update", "scores", "a=increment:much"], ["push", "scores"], ["rm"],
        ["set", "a", "1", "--backend", ""], ["pending", "--cancel", "x"], ["nonsense"],
        ["watch", "a", "--count", "0"], ["watch", "a", "--for", "-1"], ["import"], ["get"],
    ])
    func `a wrong command line is 64`(arguments: [String]) throws {
        let result = try Tool.run(
            ["rtdb"] + arguments + ["--store", store.folder.store], in: store.folder)
        expectError(result, 64, ": error: ")
    }

    @Test func `data nested deeper than 32 levels is an error`() throws {
        let text = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
        expectError(try store.run("set", "deep", text), 65, "'deep': ")
        let deeper = String(repeating: "[", count: 5000)
        expectError(try store.run("set", "deep", "-", input: deeper), 65, "standard input")
    }

    @Test func `the tool creates no store but by an import`() throws {
        let store = try RealtimeToolFolder()
        for arguments in [
            ["get", "a"], ["set", "a", "1"], ["query", "a"], ["watch", "a"], ["export"],
            ["pending"], ["dead-letters"],
        ] {
            let result = try Tool.run(
                ["rtdb"] + arguments + ["--store", store.folder.store], in: store.folder)
            expectError(result, 66, "there is no store at ")
            #expect(result.messages.contains("larder rtdb import"), "\(result)")
            #expect(!FileManager.default.fileExists(atPath: store.folder.store))
        }
        try self.store.output("get", "scores/pterodactyl")
        let result = try self.store.run("get", "scores", "--backend", "missing")
        expectError(result, 66, "there is no backend at 'missing'")
    }

    @Test func `another program that has the store open is a temporary failure`() async throws {
        let database = try store.open()
        for arguments in [["get", "scores"], ["set", "a", "1"], ["pending"]] {
            let result = try Tool.run(
                ["rtdb"] + arguments + ["--store", store.folder.store], in: store.folder)
            expectError(result, 75, "stop the other process")
        }
        // These read what is committed.
        #expect(try Tool.run("stat", in: store.folder).status == 0)
        try await database.close()
    }

    @Test func `a directory that is no store is an error`() throws {
        let folder = try RealtimeToolFolder()
        try FileManager.default.createDirectory(
            atPath: folder.folder.store, withIntermediateDirectories: true)
        try folder.folder.file("store/data.mdb", String(repeating: "no store", count: 5000))
        expectError(try folder.run("get", "a"), 65, "cannot open the store ")
    }
}
