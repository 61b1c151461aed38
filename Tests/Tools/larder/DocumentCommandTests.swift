import Foundation
import LarderDocumentStore
import LarderModel
import Testing

@testable import LarderTool

@Suite struct QueryCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.file(
            "cities.ndjson",
            """
            {"$name":"cities/SF","name":"San Francisco","state":"CA","population":860000,"tags":["bay","hills"],"stats":{"area":121.4}}
            {"$name":"cities/LA","name":"Los Angeles","state":"CA","population":3900000,"tags":["beach"]}
            {"$name":"cities/DC","name":"Washington, D.C.","state":null,"population":680000}
            {"$name":"cities/7","name":"Seven","population":7.5,"twin":{"$reference":"projects/demo-larder/databases/(default)/documents/cities/SF"}}
            {"$name":"cities/SF/landmarks/bridge","name":"Golden Gate","length":2737.5}
            {"$name":"cities/LA/landmarks/sign","name":"Sign","length":137}

            """)
        let result = try Tool.run("import", file, in: folder)
        #expect(result.status == 0, "\(result)")
    }

    /// The ids that a query prints, in order.
    private func ids(_ arguments: String...) throws -> [String] {
        let result = try Tool.run(
            ["query"] + arguments + ["--json", "--store", folder.store], in: folder)
        #expect(result.status == 0, "\(result)")
        return try result.lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let name = try #require((object as? [String: Any])?["$name"] as? String)
            return name.split(separator: "/").last.map(String.init) ?? ""
        }
    }

    @Test func `conditions, orders, limits and cursors choose documents`() throws {
        #expect(try ids("cities") == ["7", "DC", "LA", "SF"])
        #expect(try ids("cities", "--where", "population > 700000") == ["SF", "LA"])
        #expect(try ids("cities", "--where", "state == CA", "--where", "population<1e6") == ["SF"])
        #expect(try ids("cities", "--where", "state == CA or state == null") == ["DC", "LA", "SF"])
        #expect(try ids("cities", "--where", "state != CA") == [])
        #expect(try ids("cities", "--where", "state not-in [NY]") == ["LA", "SF"])
        #expect(try ids("cities", "--where", "__name__ in [7, DC]") == ["7", "DC"])
        #expect(try ids("cities", "--where", "tags array-contains bay") == ["SF"])
        #expect(
            try ids("cities", "--where", "tags array-contains-any [beach, hills]") == ["LA", "SF"])
        #expect(try ids("cities", "--where", "twin == ref:cities/SF") == ["7"])
        #expect(try ids("cities", "--where", "stats.area >= 100") == ["SF"])
        #expect(
            try ids("cities", "--order", "population", "--desc", "--limit", "2") == ["LA", "SF"])
        #expect(try ids("cities", "--order", "population", "--last", "2") == ["SF", "LA"])
        #expect(
            try ids("cities", "--order", "population", "--start-after", "680000", "--end-at", "1e6")
                == ["SF"])
        #expect(
            try ids("cities", "--order", "population", "--start-at", "-5", "--end-before", "680000")
                == ["7"])
        #expect(
            try ids(
                "cities", "--order", "state", "--order", "population", "--desc", "--start-at",
                "CA, 3900000") == ["LA", "SF"])
        #expect(try ids("landmarks", "--group") == ["sign", "bridge"])
        #expect(try ids("cities/SF/landmarks") == ["bridge"])
    }

    @Test func `a table shows ids and fields, with --select those alone`() throws {
        let all = try Tool.run("query", "cities", "--limit", "1", in: folder)
        #expect(all.lines.first == "ID  FIELDS")
        #expect(all.lines.last?.hasPrefix(#"7   {"name":"Seven","population":7.5"#) == true)
        let some = try Tool.run(
            "query", "cities", "--select", "name,stats.area", "--select", "population", "--order",
            "population", in: folder)
        #expect(
            some.output == """
                ID  NAME              STATS.AREA  POPULATION
                7   Seven                                7.5
                DC  Washington, D.C.                  680000
                SF  San Francisco          121.4      860000
                LA  Los Angeles                      3900000

                """)
        let nothing = try Tool.run("query", "nowhere", in: folder)
        #expect(nothing.status == 0 && nothing.output == "")
        #expect(nothing.messages == "larder: no document of nowhere matches\n")
    }

    @Test func `a condition with a malformed number, and without a match, gives a hint`() throws {
        func messages(_ condition: String, _ options: String...) throws -> String {
            try Tool.run(
                ["query", "cities", "--where", condition, "--store", folder.store] + options,
                in: folder
            ).messages
        }
        let none = "larder: no document of cities matches\n"
        let hint =
            "larder: '1M' is not a number and is compared as a string; numbers are written like "
            + "1000000 or 1e6\n"
        #expect(try messages("population > 1M") == none + hint)
        #expect(try messages("population in [1M, 5]") == none + hint)
        #expect(try messages("population > 1M or state == CA") == "")
        #expect(try messages("population > 1M", "--json") == "")
        for text in [#""1M""#, "1e9", "2026-01-31", "M1", "time:2026-01-31T12:00:00Z"] {
            #expect(try messages("population > \(text)") == none, "\(text)")
        }
    }

    @Test func `JSON output can be imported`() throws {
        let result = try Tool.run(
            "query", "cities", "--where", "state == CA", "--json", in: folder)
        let copy = try TemporaryFolder()
        let file = try copy.file("copy.ndjson", result.output)
        #expect(try Tool.run("import", file, in: copy).status == 0)
        #expect(try Tool.run("query", "cities", "--json", in: copy).output == result.output)
        let some = try Tool.run(
            "query", "cities", "--where", "stats.area > 0", "--select", "stats.area,name", "--json",
            in: folder)
        #expect(
            some.output
                == #"{"$name":"cities/SF","name":"San Francisco","stats":{"area":121.4}}"# + "\n")
    }

    @Test func `--explain prints the plan and its statistics`() throws {
        let arguments = ["query", "cities", "--where", "population > 700000", "--explain"]
        let json = try Tool.run(arguments + ["--json", "--store", folder.store], in: folder)
        #expect(json.lines.count == 3)
        let last = try JSONSerialization.jsonObject(with: Data(try #require(json.lines.last).utf8))
        let told = try #require((last as? [String: [String: Any]])?["$explain"])
        #expect(told["kind"] as? String == "collection scan")
        #expect(told["documentsScanned"] as? Int == 4)
        #expect(told["documentsReturned"] as? Int == 2)
        #expect(try #require(told["bytesRead"] as? Int) > 0)
        #expect((told["alternatives"] as? [[String: Any]])?.first?["isChosen"] as? Bool == true)
        let text = try Tool.run(arguments + ["--store", folder.store], in: folder)
        for line in [
            "plan        collection scan of cities", "indexes     none", "returned    2 documents",
        ] {
            #expect(text.lines.contains(line), "\(text)")
        }
        #expect(
            try Tool.run("index", "--add", "cities: population", "--build", in: folder).status == 0)
        let indexed = try Tool.run(arguments + ["--store", folder.store], in: folder)
        #expect(indexed.output.contains("cities(population ASC)"), "\(indexed)")
    }

    @Test func `aggregates are computed over the matches`() throws {
        func figure(_ arguments: String...) throws -> String {
            let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
            #expect(result.status == 0, "\(result)")
            return result.output
        }
        #expect(try figure("count", "cities") == "4\n")
        #expect(try figure("count", "cities", "--where", "state == CA") == "2\n")
        #expect(try figure("count", "cities", "--limit", "3") == "3\n")
        #expect(try figure("count", "landmarks", "--group") == "2\n")
        #expect(try figure("sum", "cities", "population", "--where", "state == CA") == "4760000\n")
        #expect(try figure("sum", "cities", "population") == "5440007.5\n")
        #expect(
            try figure("avg", "cities", "population", "--where", "state == CA") == "2380000.0\n")
        #expect(try figure("avg", "cities", "nothing") == "null\n")
        #expect(try figure("min", "cities", "name") == "\"Los Angeles\"\n")
        #expect(try figure("max", "cities", "population") == "3900000\n")
        #expect(
            try figure("max", "cities", "stats.area", "--json")
                == #"{"collection":"cities","aggregate":"max","field":"stats.area","value":121.4}"#
                + "\n")
        #expect(
            try figure("count", "cities", "--json")
                == #"{"collection":"cities","aggregate":"count","field":null,"value":4}"# + "\n")
    }

    @Test(arguments: [
        (
            ["query", "cities", "--where", "population >"],
            "--where 'population >', at character 13"
        ),
        (["query", "cities", "--where", "a == 1", "--where", "b"], "an operator"),
        (["query", "cities", "--order", "a up"], "--order 'a up', at character 3"),
        (["query", "cities", "--start-at", "5"], "query of 'cities'"),
        (["query", "cities", "--order", "a", "--start-at", "5,"], "--start-at '5,'"),
        (["query", "cities", "--where", "a not-in [1]", "--where", "a != 1"], "query of 'cities'"),
        (["query", "cities", "--where", "a in []"], "query of 'cities'"),
        (["query", "cities", "--limit", "0"], "--limit must"),
        (["query", "cities", "--limit", "1", "--last", "1"], "cannot be combined"),
        (["query", "cities", "--last", "1"], "query of 'cities'"),
        (["query", "cities", "--desc"], "--desc"), (["query", "cities/SF"], "cities/SF"),
        (["query", "a/b/c", "--group"], "--group"),
        (["query", "cities", "--select", "a b"], "--select"),
        (["query", "cities", "--project", "a/b"], "--project"), (["query"], "collection"),
        (["min", "cities"], "field"), (["sum", "cities", "a..b"], "a..b"),
        (["set", "cities", "{}"], "cities"), (["set", "cities/SF"], "json"),
        (["update", "cities/SF"], "field"), (["update", "cities/SF", "a"], "expected '='"),
        (["update", "cities/SF", "a=1", "a=2"], "twice"),

        (["delete", "cities"], "cities"), (["delete"], "document"),
        (["pending", "--cancel", "x"], "x"), (["index", "--add", "cities"], "--add 'cities'"),
        (["index", "--add", "c: a", "--set", "-"], "--set"),
        (["watch", "cities/SF", "--limit", "1"], "is a document"),
        (["watch", "cities", "--count", "0"], "--count"),
        (["watch", "cities", "--for", "-1"], "--for"),
    ])
    func `a wrong command line is 64 and names what is wrong`(
        arguments: [String], text: String
    ) throws {
        let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
        #expect(result.status == 64, "\(result)")
        let line = result.messages.split(separator: "\n").first ?? ""
        #expect(line.hasPrefix("larder: error: ") && line.contains(text), "\(result)")
        #expect(result.output == "", "\(result)")
    }

    @Test func `a store that is not there is 66, and none is made`() throws {
        for arguments in [
            ["query", "c"], ["count", "c"], ["set", "c/d", "{}"], ["update", "c/d", "a=1"],
            ["delete", "c/d"], ["pending"], ["pending", "--cancel", "1"], ["index"],
            ["index", "--build"], ["index", "--add", "c: a"], ["watch", "c"],
        ] {
            let result = try Tool.run(arguments, in: folder)
            #expect(result.status == 66, "\(arguments): \(result)")
            #expect(result.messages.contains("there is no store at 'larder-store'"), "\(result)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/larder-store"))
    }

    @Test func `while another process writes reading works and writing is 75`() throws {
        let store = try Store(StoreConfiguration(directory: folder.store))
        for arguments in [
            ["query", "cities"], ["count", "cities"], ["pending"], ["index"],
            ["watch", "cities", "--count", "1"],
        ] {
            let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
            #expect(result.status == 0, "\(arguments): \(result)")
        }
        for arguments in [
            ["set", "c/d", "{}"], ["update", "c/d", "a=1"], ["delete", "c/d"],
            ["pending", "--cancel", "1"], ["index", "--add", "c: a"], ["index", "--build"],
        ] {
            let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
            #expect(result.status == 75, "\(arguments): \(result)")
            #expect(result.messages.contains("stop the other process"), "\(result)")
        }
        try store.close()
    }
}

@Suite struct WriteCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
    }

    private func fields(_ path: String) throws -> String {
        let result = try Tool.run("get", path, "--json", in: folder)
        return try #require(result.lines.first, "\(result)")
    }

    private func run(_ arguments: String..., input: String = "") throws -> ToolResult {
        let result = try Tool.run(
            arguments + ["--store", folder.store], in: folder, input: input)
        #expect(result.status == 0, "\(result)")
        return result
    }

    @Test func `set replaces a document, with --merge it adds fields`() throws {
        let set = try run("set", "cities/SF", #"{"a":1,"b":{"c":2}}"#)
        #expect(
            set.output
                == "set cities/SF: committed locally as write 1; pending until a backend accepts it\n"
        )
        #expect(try fields("cities/SF").hasSuffix(#""fields":{"a":1,"b":{"c":2}}}"#))
        let merged = try run("set", "cities/SF", #"{"b":{"d":3}}"#, "--merge", "--json")
        #expect(
            merged.output == #"{"write":2,"documents":["cities/SF"],"state":"pending"}"# + "\n")
        #expect(try fields("cities/SF").hasSuffix(#""fields":{"a":1,"b":{"c":2,"d":3}}}"#))
        _ = try run("set", "new/document", "-", input: "{\n \"x\": {\"$bytes\": \"aGk=\"}\n}\n")
        #expect(try fields("new/document").hasSuffix(#""fields":{"x":{"$bytes":"aGk="}}}"#))
        #expect(try run("count", "new").output == "1\n")
    }

    @Test func `set stores values of every type unchanged`() throws {
        let text =
            #"{"array":[1,"x",{"y":null}],"bytes":{"$bytes":"AAE="},"double":1.0,"false":false,"#
            + #""integer":9007199254740993,"map":{"$map":{"$bytes":1}},"nan":{"$double":"NaN"},"#
            + #""place":{"latitude":1.5,"longitude":-2.5},"ref":{"$reference":"#
            + #""projects/demo-larder/databases/(default)/documents/a/b"},"#
            + #""time":{"$timestamp":"2026-01-31T12:00:00.123456Z"},"true":true,"#
            + #""vector":{"$vector":[1.0,2.5]}}"#
        _ = try run("set", "a/b", text)
        #expect(try fields("a/b").hasSuffix("\"fields\":" + text + "}"))
        #expect(
            try run("query", "a", "--json").output == #"{"$name":"a/b","# + text.dropFirst() + "\n")
    }

    @Test func `update changes fields, in all its forms`() throws {
        _ = try run(
            "update", "cities/SF", "population=increment:5", "name=San Francisco, CA",
            "tags=union:[fog, bay]", "stats.area=121.4", "`odd name`=true")
        #expect(
            try fields("cities/SF").hasSuffix(
                #""fields":{"name":"San Francisco, CA","odd name":true,"population":860005,"#
                    + #""stats":{"area":121.4},"tags":["bay","hills","fog"]}}"#))
        _ = try run(
            "update", "cities/SF", "tags=remove:[bay]", "population=max:900000", "name=delete:",
            "stats.area=min:100")
        _ = try run("update", "cities/SF", #"{"stats.b":{"c":1},"`odd name`":null}"#)
        #expect(
            try fields("cities/SF").hasSuffix(
                #""fields":{"odd name":null,"population":900000,"stats":{"area":100,"b":{"c":1}},"#
                    + #""tags":["hills","fog"]}}"#))
        _ = try run("update", "cities/SF", "seen=now:")
        #expect(try fields("cities/SF").contains(#""seen":{"$serverTimestamp":"20"#))
        let missing = try run("update", "cities/nowhere", "a=1")
        #expect(missing.messages.contains("cities/nowhere is not in the store"), "\(missing)")
        #expect(try Tool.run("get", "cities/nowhere", in: folder).status == 1)
    }

    @Test func `delete removes documents, and cancelling restores them`() throws {
        let before = try Tool.run("export", "cities", in: folder).output
        let deleted = try run("delete", "cities/SF", "cities/LA")
        #expect(
            deleted.output
                == "deleted cities/SF, cities/LA: committed locally as write 1; pending until a "
                + "backend accepts it\n")
        #expect(try run("count", "cities").output == "0\n")
        let get = try Tool.run("get", "cities/SF", in: folder)
        #expect(get.status == 1 && get.messages.contains("is deleted by a pending write"))
        #expect(
            try run("pending", "--cancel", "1").output
                == "cancelled write 1: cities/SF, cities/LA\n")
        #expect(try run("query", "cities", "--json").output == before)
    }

    @Test func `pending lists writes, oldest first, and cancels some`() throws {
        let none = try run("pending")
        #expect(none.output == "" && none.messages == "larder: no pending writes\n")
        #expect(try run("pending", "--json").output == "{\"pending\":[]}\n")
        _ = try run("set", "a/1", "{}")
        _ = try run("update", "a/1", "x=1")
        _ = try run("set", "a/2", "{}")
        let json = try run("pending", "--json").json()
        let writes = try #require(json["pending"] as? [[String: Any]])
        #expect(writes.map { $0["write"] as? Int } == [1, 2, 3])
        #expect(writes.map { $0["documents"] as? [String] } == [["a/1"], ["a/1"], ["a/2"]])
        for write in writes {
            #expect(write["attemptCount"] as? Int == 0)
            #expect(write["lastAttempt"] is NSNull && write["lastError"] is NSNull)
            #expect(try #require(write["ageSeconds"] as? Double) >= 0)
            #expect((write["writeTime"] as? String)?.hasSuffix("Z") == true)
        }
        let text = try run("pending")
        let titles = try #require(text.lines.first).split(separator: " ")
        #expect(titles == ["WRITE", "AGE", "ATTEMPTS", "DOCUMENTS", "LAST", "ERROR"])
        #expect(text.lines.count == 4)
        let cancelled = try Tool.run(
            "pending", "--cancel", "2", "--cancel", "9", "--json", in: folder)
        #expect(cancelled.status == 1, "\(cancelled)")
        #expect(try cancelled.json()["missing"] as? [Int] == [9])
        #expect(cancelled.messages.contains("there is no pending write 9"))
        #expect(try fields("a/1").hasSuffix(#""fields":{}}"#))
        #expect(try run("pending").lines.count == 3)
    }

    @Test(arguments: [
        "", "{", "[]", "5", #"{"a":1,"a":2}"#, #"{"a":[[1]]}"#, #"{"__a__":1}"#, #"{"":1}"#,
        #"{"a":{"$bytes":5}}"#, #"{"a":{"$reference":"x"}}"#,
        #"{"a":{"$reference":"projects/x/databases/y/documents/a/b"}}"#,
        #"{"a":[{"$serverTimestamp":"2026-01-31T12:00:00Z"}]}"#, "{\"\u{e9}\":1,\"e\u{301}\":2}",
    ])
    func `data that Firestore does not take is 65, and nothing is written`(text: String) throws {
        let result = try Tool.run("set", "a/b", text, in: folder)
        #expect(result.status == 65, "\(result)")
        #expect(result.messages.hasPrefix("larder: error: "))
        #expect(try run("pending", "--json").output == "{\"pending\":[]}\n")
    }

    @Test func `a document beyond 1 MiB is 65`() throws {
        let text = String(repeating: "x", count: 1_100_000)
        let result = try Tool.run(
            ["set", "a/b", "-", "--store", folder.store], in: folder, input: "{\"a\":\"\(text)\"}")
        #expect(result.status == 65, "\(result)")
        #expect(try run("pending", "--json").output == "{\"pending\":[]}\n")
    }

    @Test func `references are of the project and database that are named`() throws {
        let reference = #"{"r":{"$reference":"projects/p/databases/d/documents/a/b"}}"#
        _ = try run("set", "a/b", reference, "--project", "p", "--database", "d")
        #expect(
            try run(
                "count", "a", "--where", "r == ref:a/b", "--project", "p", "--database", "d"
            ).output == "1\n")
        #expect(try run("query", "a", "--json").output.contains("projects/p/databases/d/"))
    }
}

@Suite struct IndexCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.file("in.ndjson", generatedLines(0..<3000))
        let result = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        #expect(result.status == 0, "\(result)")
    }

    private func indexes(_ arguments: String..., status: Int32 = 0) throws -> [[String: Any]] {
        let result = try Tool.run(
            ["index"] + arguments + ["--json", "--store", folder.store], in: folder)
        #expect(result.status == status, "\(result)")
        return try #require(result.json()["indexes"] as? [[String: Any]])
    }

    @Test func `indexes are added, filled and dropped`() throws {
        #expect(try indexes().isEmpty)
        let added = try indexes("--add", "c: number desc", "--add", "c: name, number")
        #expect(added.map { $0["fields"] as? String } == ["number desc", "name asc, number asc"])
        let built = try indexes("--build")
        #expect(built.map { $0["isComplete"] as? Bool } == [true, true])
        #expect(built.map { $0["entryCount"] as? Int } == [3000, 3000])
        let text = try Tool.run("index", in: folder)
        #expect(text.lines.first?.hasPrefix("COLLECTIONS  FIELDS") == true)
        #expect(text.output.contains("complete"))
        #expect(try indexes("--add", "c: number desc").count == 2, "an equal one stays")
        let dropped = try indexes("--drop", "c: number desc", "--build")
        #expect(dropped.map { $0["fields"] as? String } == ["name asc, number asc"])
        #expect(dropped.first?["isComplete"] as? Bool == true)
        #expect(try indexes("--drop", "c: nothing", status: 1).count == 1)
        #expect(try Tool.run("check", in: folder).status == 0)
    }

    @Test func `the Firebase CLI's file replaces all`() throws {
        _ = try indexes("--add", "c: name")
        let file = try folder.file(
            "indexes.json",
            #"{"indexes":[{"collectionGroup":"c","queryScope":"COLLECTION","fields":["#
                + #"{"fieldPath":"number","order":"DESCENDING"},"#
                + #"{"fieldPath":"tags","arrayConfig":"CONTAINS"}]}],"fieldOverrides":[]}"#)
        let set = try indexes("--set", file, "--build")
        #expect(set.map { $0["fields"] as? String } == ["number desc, tags contains"])
        #expect(set.first?["isComplete"] as? Bool == true)
        let wrong = try folder.file("wrong.json", #"{"indexes":5}"#)
        let refused = try Tool.run("index", "--set", wrong, in: folder)
        #expect(refused.status == 65, "\(refused)")
        #expect(refused.messages.contains("wrong.json"), "\(refused)")
        #expect(try Tool.run("index", "--set", "nothing.json", in: folder).status == 66)
        #expect(try indexes().count == 1)
        let empty = try Tool.run(
            ["index", "--set", "-", "--store", folder.store], in: folder, input: "{}")
        #expect(empty.status == 0 && empty.output == "", "\(empty)")
    }
}
