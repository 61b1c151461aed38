import Foundation
import LarderTestSupport
import Testing

@testable import LarderTool

@Suite struct ImportCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func fields(_ path: String) throws -> NSDictionary {
        let result = try Tool.run("get", path, "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        return try #require(try result.json()["fields"] as? NSDictionary)
    }

    private func documentCount() throws -> Int {
        let stat = try Tool.run("stat", "--json", in: folder).json()
        return try #require(stat["documentCount"] as? Int)
    }

    @Test func `lines become documents with the chosen field as id`() throws {
        let file = try folder.file(
            "in.ndjson",
            #"""
            {"id":"SF","name":"San Francisco","at":{"latitude":37.77,"longitude":-122.42}}
            {"id":42,"name":"forty-two","inner":{"deep":[1,2.5,null]}}

            """#)
        let result = try Tool.run("import", file, "-c", "cities", "--id", "id", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(result.messages == "")
        #expect(result.output.contains("imported 2 documents into cities: 2 added, 0 replaced"))
        #expect(
            try fields("cities/SF") == [
                "name": "San Francisco", "at": ["latitude": 37.77, "longitude": -122.42],
            ])
        #expect(
            try fields("cities/42")
                == ["name": "forty-two", "inner": ["deep": [1, 2.5, NSNull()] as [Any]]])
    }

    @Test func `the id can stay a field, and ids can be made`() throws {
        let file = try folder.file("in.ndjson", "{\"id\":7,\"a\":1}\n")
        _ = try Tool.run("import", file, "-c", "kept", "--id", "id", "--keep-id", in: folder)
        #expect(try fields("kept/7") == ["id": 7, "a": 1])

        _ = try Tool.run("import", file, "-c", "made", in: folder)
        let list = try Tool.run("ls", "made", "--json", in: folder).json()
        let rows = try #require(list["documents"] as? [[String: Any]])
        let id = try #require(rows.first?["id"] as? String)
        #expect(rows.count == 1)
        #expect(id.utf8.count == 20)
        #expect(try fields("made/" + id) == ["id": 7, "a": 1])
    }

    @Test func `an array and an object of documents are read from standard input, too`() throws {
        let array = try Tool.run(
            "import", "-", "-c", "a", "--id", "k", in: folder,
            input: "[ {\"k\":\"x\",\"n\":1},\n {\"k\":\"y\",\"n\":2} ]\n")
        #expect(array.status == 0, "\(array)")
        let object = try Tool.run(
            "import", "-", "-c", "b/c/d", "--format", "json", in: folder,
            input: "{\"x\":{\"n\":3},\"y\":{\"n\":4}}")
        #expect(object.status == 0, "\(object)")
        #expect(try fields("a/y") == ["n": 2])
        #expect(try fields("b/c/d/x") == ["n": 3])
    }

    @Test func `documents that are there are replaced and counted`() throws {
        let file = try folder.file("in.ndjson", "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\"}\n")
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        let before = try Tool.run("get", "c/a", "--json", in: folder).json()
        let again = try folder.file("again.ndjson", "{\"id\":\"a\",\"n\":2}\n{\"id\":\"z\"}\n")
        let result = try Tool.run(
            "import", again, "-c", "c", "--id", "id", "--json", in: folder
        ).json()
        #expect(result["addedCount"] as? Int == 1)
        #expect(result["replacedCount"] as? Int == 1)
        #expect(result["outcome"] as? String == "complete")
        #expect(try fields("c/a") == ["n": 2])
        let after = try Tool.run("get", "c/a", "--json", in: folder).json()
        #expect(after["createTime"] as? String == before["createTime"] as? String)
        #expect(after["version"] as? String != before["version"] as? String)
    }

    @Test func `a file is written in the order of its paths, and the last of one path wins`() throws
    {
        // A permutation: 7 and 3000 have no common divisor.
        let lines = (0..<3000).map { index in
            let number = index * 7 % 3000
            let text = String(repeating: "x\(number) ", count: 20)
            return "{\"id\":\"n\(1000 + number)\",\"text\":\"\(text)\"}"
        }
        let last = "{\"id\":\"n1000\",\"text\":\"the last\"}"
        let text = (lines + [last]).joined(separator: "\n")
        let file = try folder.file("in.ndjson", text)
        let sorted = try Tool.run("import", file, "-c", "c", "--id", "id", "--json", in: folder)
        #expect(try sorted.json()["addedCount"] as? Int == 3000)
        #expect(try sorted.json()["replacedCount"] as? Int == 1)
        #expect(try fields("c/n1000") == ["text": "the last"])

        // A pipe's documents are not sorted.
        let other = try TemporaryFolder()
        let unsorted = try Tool.run(
            "import", "-", "-c", "c", "--id", "id", "--json", in: other, input: text)
        #expect(try fileBytes(sorted) * 3 < fileBytes(unsorted) * 2)
    }

    private func fileBytes(_ result: ToolResult) throws -> Int {
        let store = try #require(try result.json()["store"] as? [String: Any])
        return try #require(store["fileBytes"] as? Int)
    }

    @Test func `wrong lines are named with number and reason, and the rest goes on`() throws {
        let long = String(repeating: "x", count: 1_100_000)
        let lines = [
            #"{"id":"good1"}"#,  // 1
            #"{"id":"a",}"#,  // 2
            #"{"name":"no id"}"#,  // 3
            #"{"id":1.5}"#,  // 4
            #"{"id":"a/b"}"#,  // 5
            #"{"id":"."}"#,  // 6
            #"{"id":".."}"#,  // 7
            #"{"id":"__reserved__"}"#,  // 8
            #"{"id":""}"#,  // 9
            #"{"id":"\#(String(repeating: "i", count: 1501))"}"#,  // 10
            #"{"id":"twice","a":1,"a":2}"#,  // 11
            #"{"id":"big","text":"\#(long)"}"#,  // 12
            #"{"id":"deep","a":\#(String(repeating: "[{\"a\":", count: 12))1\#(String(repeating: "}]", count: 12))}"#,
            #"{"id":"number","a":1e999}"#,  // 14
            #"["array"]"#,  // 15
            #"{"id":"good2"}"#,  // 16
        ]
        var bytes = Array(lines.joined(separator: "\n").utf8) + [10]
        bytes += Array("{\"id\":\"utf\",\"a\":\"".utf8) + [0xFF] + Array("\"}\n".utf8)  // 17
        let file = try folder.file("in.ndjson", bytes: bytes)
        let result = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        #expect(result.status == 1)
        #expect(result.output.contains("2 documents into c: 2 added, 0 replaced, 15 skipped"))
        let messages = result.messages.split(separator: "\n").map(String.init)
        #expect(messages.count == 15)
        for line in 2...17 where line != 16 {
            let named = messages.filter {
                $0.hasPrefix("larder: \(file), line \(line):")
                    || $0.hasPrefix("larder: \(file), line \(line), column ")
            }
            #expect(named.count == 1, "line \(line) in \(result.messages)")
        }
        #expect(messages[0].hasSuffix("line 2, column 11: expected a name in quotes"))
        #expect(try documentCount() == 2)
        #expect(try Tool.run("check", in: folder).status == 0)
    }

    @Test func `too many wrong lines stop the import, none are right is bad data`() throws {
        let file = try folder.file("in.ndjson", "{\"id\":\"a\"}\nx\nx\nx\n{\"id\":\"b\"}\n")
        let stopped = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--max-errors", "1", in: folder)
        #expect(stopped.status == 65)
        #expect(try documentCount() == 1, "what came before stays")
        let all = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--max-errors", "3", in: folder)
        #expect(all.status == 1)
        #expect(try documentCount() == 2)

        let bad = try folder.file("bad.ndjson", "x\ny\n")
        #expect(
            try Tool.run("import", bad, "-c", "c", "--format", "ndjson", in: folder).status == 65)
        let broken = try folder.file("bad.json", "[{\"id\":\"n1\"},{\"id\":\"n2\"} {}]")
        let result = try Tool.run("import", broken, "-c", "n", "--id", "id", in: folder)
        #expect(result.status == 65)
        #expect(result.messages.contains("line 1: expected ',' or ']'"), "\(result)")
        #expect(try documentCount() == 4)
    }

    @Test func `text becomes timestamps, and objects stay maps, on request`() throws {
        let text = #"{"id":"a","t":"2026-01-31T12:00:00Z","b":{"$bytes":"AAE="}}"# + "\n"
        let file = try folder.file("in.ndjson", text)
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", "--timestamps", in: folder)
        #expect(
            try fields("c/a") == [
                "t": ["$timestamp": "2026-01-31T12:00:00Z"], "b": ["$bytes": "AAE="],
            ])
        _ = try Tool.run("import", file, "-c", "u", "--id", "id", "--untyped", in: folder)
        #expect(
            try fields("u/a") == [
                "t": "2026-01-31T12:00:00Z", "b": ["$map": ["$bytes": "AAE="]],
            ])
    }

    @Test func `indexes are defined, and filled when documents are there already`() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<1200))
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        let result = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--index", "number",
            "--index", "name,number:desc", "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        let store = try #require(try result.json()["store"] as? [String: Any])
        let indexes = try #require(store["indexes"] as? [[String: Any]])
        #expect(indexes.map { $0["fields"] as? String } == ["number", "name,number:desc"])
        #expect(indexes.allSatisfy { $0["entryCount"] as? Int == 1200 })
        #expect(indexes.allSatisfy { $0["isComplete"] as? Bool == true })
        #expect(try Tool.run("check", in: folder).status == 0)
    }

    @Test func `a budget keeps the store small while it is filled`() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<12000))
        let result = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--budget", "1MiB", "--durability",
            "last-commit-at-risk", "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        let report = try result.json()
        let store = try #require(report["store"] as? [String: Any])
        #expect(report["addedCount"] as? Int == 12_000)
        #expect(try #require(report["evictedDocumentCount"] as? Int) > 0)
        #expect(try #require(store["totalBytes"] as? Int) <= 1_048_576)
        #expect(try Tool.run("check", in: folder).status == 0)
    }

    @Test func `a killed import leaves whole commits and can be run again`() throws {
        let text = generatedLines(0..<5000)
        let file = try folder.file("in.ndjson", text)
        let arguments = ["import", "-", "-c", "c", "--id", "id", "--store", folder.store]
        let running = try RunningTool(arguments, in: folder)
        // All but a pipe's 64 KiB of this were read, which is more than some commits.
        running.write(text)
        running.send(SIGKILL)
        let killed = try running.finish()
        #expect(killed.status == 128 + SIGKILL)

        let check = try Tool.run("check", "--json", in: folder)
        #expect(check.status == 0, "\(check)")
        let kept = try #require(try check.json()["documentCount"] as? Int)
        #expect(kept > 0 && kept < 5000)
        #expect(kept % 500 == 0)

        let report = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--json", in: folder
        ).json()
        #expect(report["replacedCount"] as? Int == kept)
        #expect(report["addedCount"] as? Int == 5000 - kept)
        #expect(try Tool.run("check", in: folder).status == 0)
    }

    @Test func `control-C commits what was read, with a hint how to continue`() throws {
        let text = generatedLines(0..<1234)
        let arguments = ["import", "-", "-c", "c", "--id", "id", "--json", "--store", folder.store]
        let running = try RunningTool(arguments, in: folder)
        running.write(text)
        running.send(SIGINT)
        let result = try running.finish()
        #expect(result.status == 130, "\(result)")
        #expect(result.messages.contains("interrupted after line"))
        let report = try result.json()
        #expect(report["outcome"] as? String == "interrupted")
        #expect(try documentCount() == report["addedCount"] as? Int)
    }

    @Test func `the sample of cities is imported`() throws {
        let sample = PackageDirectory.path("Tests/Data/cities.ndjson").path
        let report = try Tool.run(
            "import", sample, "-c", "cities", "--id", "id", "--json", in: folder
        ).json()
        #expect(report["addedCount"] as? Int == 600)
        #expect(report["errorCount"] as? Int == 0)
        let tokyo = try fields("cities/1850147")
        #expect(tokyo["name"] as? String == "Tokyo")
        #expect((tokyo["location"] as? NSDictionary)?.count == 2)
    }
}
