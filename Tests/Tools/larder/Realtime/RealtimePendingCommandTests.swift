import Foundation
import LarderRealtime
import LarderRealtimeBackend
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimePendingCommandTests {
    let store: RealtimeToolFolder

    /// A store that an application has left without a backend.
    init() async throws {
        store = try RealtimeToolFolder()
        try await store.cacheBestScores(4)
    }

    private func addOne(to location: DatabaseReference) {
        location.runTransactionBlock { data in
            data.value = (data.value as? Int ?? 0) + 1
            return .success(withValue: data)
        }
    }

    @Test func `pending writes are listed with their kind and changes, oldest first`() async throws
    {
        #expect(
            try store.output("set", "users/ada", #"{"name":"Ada"}"#)
                == "set users/ada: committed locally as write 1; pending until the application "
                + "sends it\n")
        try store.output("update", "scores", "a=1", "b=increment:2", "c=delete:", "d=now:")
        let database = try store.open()
        addOne(to: database.reference(withPath: "scores/pterodactyl"))
        _ = try await database.pendingWrites()
        try await database.close()
        let text = try store.output("pending").split(separator: "\n").map(String.init)
        #expect(text.count == 4, "\(text)")
        #expect(
            text[0].split(separator: " ").map(String.init) == ["WRITE", "AGE", "KIND", "CHANGES"])
        #expect(text[1].hasSuffix(#"set          users/ada = {"name":"Ada"}"#), "\(text[1])")
        #expect(text[2].contains("update       scores/a = 1, "), "\(text[2])")
        #expect(text[2].hasSuffix(" and 1 more"), "\(text[2])")
        #expect(text[3].contains("transaction  scores/pterodactyl = 94"), "\(text[3])")

        let json = try store.run("pending", "--json").json()
        let writes = try #require(json["pending"] as? [[String: Any]])
        #expect(writes.map { $0["write"] as? Int } == [1, 2, 3])
        #expect(writes.map { $0["kind"] as? String } == ["set", "update", "transaction"])
        let changes = try #require(writes[1]["changes"] as? [[String: Any]])
        #expect(
            changes.compactMap { $0["path"] as? String }.sorted()
                == ["scores/a", "scores/b", "scores/c", "scores/d"])
        // Reading does not send, change or lose anything.
        #expect(try store.output("get", "scores/pterodactyl") == "94\n")
        #expect(try store.run("pending", "--json").json()["pending"] as? [Any] != nil)
    }

    @Test func `a cancelled write is reverted, a missing one is a finding`() throws {
        try store.output("set", "scores/pterodactyl", "1")
        try store.output("set", "scores/linhenykus", "2")
        let result = try store.run("pending", "--cancel", "1", "--cancel", "9")
        #expect(result.status == 1, "\(result)")
        #expect(result.output == "cancelled write 1: scores/pterodactyl = 1\n")
        #expect(
            result.messages
                == "larder: there is no pending write 9; 'larder rtdb pending' lists all pending "
                + "writes\n")
        let scores = try store.run("get", "scores").output
        #expect(scores.contains(": 93") && scores.contains(": 2,"), "\(scores)")
        let json = try store.run("pending", "--cancel", "2", "--json").json()
        #expect((json["cancelled"] as? [[String: Any]])?.first?["write"] as? Int == 2)
        #expect(json["missing"] as? [Int] == [])
        #expect(try store.run("pending").messages == "larder: no pending writes\n")
        try store.expectNoProblems()
    }

    @Test func `stat and check count queries and writes of the tree`() throws {
        try store.output("set", "scores/new", "1")
        let stat = try Tool.run("stat", "--json", in: store.folder).json()
        let trees = try #require(stat["trees"] as? [[String: Any]])
        #expect(trees.count == 1 && trees[0]["name"] as? String == "database", "\(trees)")
        #expect(try #require(trees[0]["trackedQueryCount"] as? Int) > 0)
        #expect(trees[0]["pendingWriteCount"] as? Int == 1)
        #expect(trees[0]["refusedWriteCount"] as? Int == 0)
        let usage = try #require(stat["usage"] as? [String: [String: Int]])
        #expect(try #require(usage["nodes"]?["sizeBytes"]) > 0)
        #expect(usage["mutations"]?["rowCount"] == 1)
        let text = try Tool.run("stat", in: store.folder)
        let header = "TREE      TRACKED QUERIES  PENDING WRITES  REFUSED WRITES"
        #expect(text.lines.contains(header), "\(text)")
        let check = try Tool.run("check", "--json", in: store.folder).json()
        #expect(check["problemCount"] as? Int == 0)
        #expect(check["nodeWriteCount"] as? Int == 1)
        #expect(check["trackedQueryCount"] as? Int == trees[0]["trackedQueryCount"] as? Int)
        #expect(try #require(check["nodeRowCount"] as? Int) > 0)
        let line = try Tool.run("check", in: store.folder).output
        #expect(line.contains(", 1 write to trees in "), "\(line)")
    }

    @Test func `stat lists the tree's cache rules, and evict keeps what they pin`() async throws {
        #expect(
            try #require(
                try Tool.run("stat", "--json", in: store.folder).json()["trees"]
                    as? [[String: Any]])[0]["cacheRules"] as? [NSDictionary] == [])
        let database = try store.open()
        try await database.setCacheRules([
            DatabaseCacheRule("scores", isPinned: true),
            DatabaseCacheRule("logs", maximumBytes: 1 << 20, maximumAge: .seconds(60)),
            DatabaseCacheRule("drafts", isLocalOnly: true),
        ])
        let draft = (0..<20_000).map { "\($0 &* 7_919)" }.joined()
        try await database.reference(withPath: "drafts/a").setValue(draft)
        try await database.close()
        let stat = try Tool.run("stat", "--json", in: store.folder).json()
        let trees = try #require(stat["trees"] as? [[String: Any]])
        let rules = try #require(trees[0]["cacheRules"] as? [[String: Any]])
        #expect(rules.map { $0["path"] as? String } == ["/scores", "/logs", "/drafts"])
        #expect(rules.map { $0["isPinned"] as? Bool } == [true, false, false])
        #expect(rules.map { $0["isNeverCached"] as? Bool } == [false, false, false])
        #expect(rules.map { $0["isLocalOnly"] as? Bool } == [false, false, true])
        #expect(rules.map { $0["maximumBytes"] as? Int } == [nil, 1 << 20, nil])
        #expect(rules.map { $0["maximumAgeSeconds"] as? Int } == [nil, 60, nil])
        #expect(rules[0]["trackedQueryCount"] as? Int == trees[0]["trackedQueryCount"] as? Int)
        #expect(rules.allSatisfy { ($0["sizeBytes"] as? Int ?? -1) >= 0 })
        #expect(rules[2]["sizeBytes"] as? Int ?? 0 > 10_000)
        #expect(trees.map { $0["name"] as? String } == ["database", "database.local"])
        let text = try Tool.run("stat", in: store.folder)
        #expect(
            text.lines.contains { $0.hasPrefix("/scores") && $0.hasSuffix("pinned") }, "\(text)")
        #expect(text.output.contains("at most 1 MiB, unused for at most 60 s"), "\(text)")
        _ = try Tool.run("evict", "0", in: store.folder)
        let after = try Tool.run("stat", "--json", in: store.folder).json()
        let left = try #require(after["trees"] as? [[String: Any]])[0]["trackedQueryCount"] as? Int
        #expect(left == trees[0]["trackedQueryCount"] as? Int)
        try store.expectNoProblems()
    }

    /// Changes the text "a marker" in a store's file.
    private func damage(_ store: String) throws {
        let path = store + "/data.mdb"
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        var from = data.startIndex
        while let range = data.range(of: Data("a marker".utf8), in: from..<data.endIndex) {
            data[range.lowerBound] = UInt8(ascii: "b")
            from = range.upperBound
        }
        #expect(from > data.startIndex)
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test func `damage of trees and writes is found by check, and named by other commands`() throws
    {
        try store.output("set", "scores/new", #""a marker""#)
        try damage(store.folder.store)
        let check = try Tool.run("check", in: store.folder)
        #expect(check.status == 1 && check.output.contains("node_writes  "), "\(check)")
        #expect(try store.run("pending").messages.contains("damage in table node_writes"))

        let other = try RealtimeToolFolder()
        try other.output("import", "-", input: #"{"text":"a marker"}"#)
        let backend = other.folder.store + "/backend"
        try damage(backend)
        let checked = try Tool.run(["check", "--store", backend], in: other.folder)
        #expect(checked.status == 1 && checked.output.contains("nodes  "), "\(checked)")
        expectError(
            try other.run("get", "text"), 65, "cannot open the backend '\(backend)': ")
    }

    @Test func `a copy of a store has the same tree and pending writes`() throws {
        try store.output("set", "scores/new", "1")
        let target = store.folder.path + "/copy"
        #expect(try Tool.run("compact", target, in: store.folder).status == 0)
        for command in ["pending", "dead-letters"] {
            let (original, copy) = (
                try Tool.run("rtdb", command, in: store.folder),
                try Tool.run(["rtdb", command, "--store", target], in: store.folder)
            )
            #expect(copy.lines.count == original.lines.count && copy.status == 0, "\(copy)")
        }
        let copied = try Tool.run(["rtdb", "get", "scores", "--store", target], in: store.folder)
        #expect(copied.output == (try store.run("get", "scores").output), "\(copied)")
    }
}

@Suite(.timeLimit(.minutes(10))) struct RealtimeDeadLettersCommandTests {
    let store: RealtimeToolFolder

    /// A store in which a backend has refused the writes 1 and 2, and has taken a third.
    init() async throws {
        store = try RealtimeToolFolder()
        var configuration = RealtimeBackendConfiguration()
        configuration.rules = { request in
            request.operation == .write && request.path.hasPrefix("/secret") ? .deny : .allow
        }
        let backend = RealtimeBackend(configuration)
        let database = try store.open(backend)
        let refused = [
            database.reference(withPath: "secret/a").enqueueSetValue(1),
            database.reference(withPath: "secret/b").enqueueSetValue(["c": 2]),
        ]
        try await database.reference(withPath: "open").setValue(3)
        for write in refused {
            await #expect(throws: (any Error).self) { try await write.acknowledged() }
        }
        try await database.close()
        try await backend.close()
    }

    @Test func `refused writes are listed with time, reason and changes`() throws {
        let text = try store.output("dead-letters").split(separator: "\n").map(String.init)
        #expect(text.count == 3, "\(text)")
        #expect(text[0].hasPrefix("WRITE  REFUSED"), "\(text)")
        #expect(text[1].contains("permissionDenied: "), "\(text)")
        #expect(text[1].hasSuffix("secret/a = 1") && text[2].hasSuffix(#"secret/b = {"c":2}"#))
        let json = try store.run("dead-letters", "--json").json()
        let letters = try #require(json["deadLetters"] as? [[String: Any]])
        #expect(letters.map { $0["write"] as? Int } == [1, 2])
        #expect(letters[0]["code"] as? String == "permissionDenied")
        let changes = try #require(letters[1]["changes"] as? [[String: Any]])
        #expect(changes[0]["path"] as? String == "secret/b")
        #expect(changes[0]["value"] as? [String: Int] == ["c": 2])
        #expect(try store.run("get", "secret").output == "")
        let stat = try Tool.run("stat", "--json", in: store.folder).json()
        #expect((stat["trees"] as? [[String: Any]])?[0]["refusedWriteCount"] as? Int == 2)
    }

    @Test func `a refused write is made again or discarded, a missing one is a finding`() throws {
        let result = try store.run("dead-letters", "--retry", "1", "--discard", "2")
        #expect(result.status == 0, "\(result)")
        #expect(
            result.lines == [
                "dead letter 1 is pending again as write 4", "discarded dead letter 2",
            ])
        #expect(try store.output("pending").contains("secret/a = 1"))
        #expect(try store.run("dead-letters").messages == "larder: no dead letters\n")
        let missing = try store.run("dead-letters", "--discard", "9", "--json")
        #expect(missing.status == 1, "\(missing)")
        #expect(try missing.json()["missing"] as? [Int] == [9])
        expectError(
            try store.run("dead-letters", "--retry", "1", "--discard", "1"), 64, "both contain 1")
    }
}
