import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderTool

@Suite struct ListCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
    }

    @Test func `collections are listed as a tree with counts`() throws {
        let result = try Tool.run("ls", in: folder)
        #expect(result.status == 0, "\(result)")
        let columns = result.lines.map { $0.split(separator: " ").prefix(2).map(String.init) }
        #expect(
            columns == [
                ["COLLECTION", "DOCUMENTS"], ["cities", "2"], ["SF/landmarks", "1"],
                ["bridge/visits", "1"], ["people", "1"], ["4", "collections"],
            ])
        #expect(result.lines[2].hasPrefix("  SF/landmarks"))
        #expect(result.lines[3].hasPrefix("    bridge/visits"))
    }

    @Test func `collections are listed for programs, also those below a document`() throws {
        let all = try Tool.run("ls", "--json", in: folder).json()
        let rows = try #require(all["collections"] as? [[String: Any]])
        #expect(
            rows.map { $0["path"] as? String } == [
                "cities", "cities/SF/landmarks", "cities/SF/landmarks/bridge/visits", "people",
            ])
        #expect(rows.map { $0["documentCount"] as? Int } == [2, 1, 1, 1])
        #expect(rows.allSatisfy { ($0["sizeBytes"] as? Int ?? 0) > 0 })
        let below = try Tool.run("ls", "cities/SF", "--json", in: folder).json()
        let found = try #require(below["collections"] as? [[String: Any]])
        #expect(found.map { $0["path"] as? String } == ["cities/SF/landmarks"])
        let none = try Tool.run("ls", "cities/LA", in: folder)
        #expect(none.status == 0)
        #expect(none.messages.contains("no collections below cities/LA"))
    }

    @Test func `documents are listed in name order, page by page, both ways`() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<25))
        _ = try Tool.run("import", file, "-c", "many", "--id", "id", in: folder)
        func page(_ arguments: String...) throws -> ([String], String?) {
            let list = try Tool.run(
                ["ls", "many", "--json", "--store", folder.store] + arguments, in: folder
            ).json()
            #expect(list["documentCount"] as? Int == 25)
            let rows = try #require(list["documents"] as? [[String: Any]])
            return (rows.compactMap { $0["id"] as? String }, list["next"] as? String)
        }
        let sorted = (0..<25).map { "d\($0)" }.sorted()
        var found: [String] = []
        var start: String? = ""
        while let next = start {
            let (ids, following) = try page(
                "--limit", "10", "--start", next.isEmpty ? sorted[0] : next)
            found += ids
            start = following
        }
        #expect(found == sorted)
        #expect(try page("--limit", "3", "--reverse") == (sorted.suffix(3).reversed(), sorted[21]))
        #expect(
            try page("--limit", "2", "--reverse", "--start", sorted[3])
                == ([sorted[3], sorted[2]], sorted[1]))
        let text = try Tool.run("ls", "many", "--limit", "10", in: folder)
        #expect(text.lines.count == 11)
        #expect(text.messages.contains("10 of 25 documents; more from larder ls many --start"))
    }

    @Test func `a collection that is not there is a finding`() throws {
        let result = try Tool.run("ls", "nothing", in: folder)
        #expect(result.status == 1)
        #expect(result.messages.contains("there is no collection 'nothing'"))
    }
}

@Suite struct GetCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
    }

    @Test func `documents are printed with their fields`() throws {
        let result = try Tool.run("get", "cities/SF", "people/ada", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(result.lines.first == "cities/SF")
        #expect(result.lines.contains("    name        \"San Francisco\""))
        #expect(result.lines.contains("    tags        [\"bay\", \"hills\"]"))
        #expect(result.lines.contains("    born  timestamp 1815-12-10T00:00:00Z"))
    }

    @Test func `one that is missing is named and the others are printed`() throws {
        let result = try Tool.run("get", "cities/SF", "cities/X", "--json", in: folder)
        #expect(result.status == 1)
        #expect(result.messages == "larder: cities/X is not in the store\n")
        let json = try result.json()
        #expect(json["name"] as? String == "cities/SF")
        #expect(json["state"] as? String == "found")
        #expect(json["version"] as? String == json["readTime"] as? String)
        #expect(try #require(json["storedBytes"] as? Int) > 0)
        #expect(
            json["fields"] as? NSDictionary
                == ["name": "San Francisco", "population": 860_000, "tags": ["bay", "hills"]])
    }
}

@Suite struct StatCommandTests {
    @Test func `figures add up and match the documents`() throws {
        let folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
        let json = try Tool.run("stat", "--json", in: folder).json()
        #expect(json["documentCount"] as? Int == 5)
        #expect(json["collectionCount"] as? Int == 4)
        let usage = try #require(json["usage"] as? [String: [String: Int]])
        #expect(
            usage.keys.sorted() == [
                "catalog", "documents", "indexes", "mutations", "nodes", "overlays", "targets",
            ])
        let sum = usage.values.reduce(0) { $0 + ($1["sizeBytes"] ?? 0) }
        #expect(json["totalBytes"] as? Int == sum)
        let size = try FileManager.default.attributesOfItem(atPath: folder.store + "/data.mdb")
        #expect(json["fileBytes"] as? Int == size[.size] as? Int)
        let text = try Tool.run("stat", in: folder)
        #expect(text.status == 0, "\(text)")
        #expect(text.lines.contains { $0.hasPrefix("documents") && $0.hasSuffix(" 5") })
        #expect(text.lines.contains { $0.hasPrefix("total") })
        #expect(json["cacheRules"] as? [NSDictionary] == [])
    }

    @Test func `cache rules are listed with their documents, and evict obeys them`() throws {
        let folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
        let store = try Store(StoreConfiguration(directory: folder.store))
        try store.write { transaction throws in
            try transaction.setCacheRules([
                CacheRule(.collection("cities"), isPinned: true),
                CacheRule(
                    .collectionGroup("landmarks"), maximumBytes: 1 << 20,
                    maximumAge: .seconds(86_400)),
            ])
        }
        try store.close()
        let json = try Tool.run("stat", "--json", in: folder).json()
        let rules = try #require(json["cacheRules"] as? [[String: Any]])
        #expect(rules.map { $0["selector"] as? String } == ["cities", "**/landmarks"])
        #expect(rules.map { $0["documentCount"] as? Int } == [2, 1])
        #expect(rules.map { $0["isPinned"] as? Bool } == [true, false])
        #expect(rules.map { $0["maximumAgeSeconds"] as? Int } == [nil, 86_400])
        #expect(rules.allSatisfy { ($0["sizeBytes"] as? Int ?? 0) > 0 })
        let text = try Tool.run("stat", in: folder)
        #expect(text.lines.contains { $0.hasPrefix("cities") && $0.hasSuffix("pinned") })
        #expect(text.output.contains("at most 1 MiB, unused for at most 86400 s"), "\(text)")
        _ = try Tool.run("evict", "0", "--force", in: folder)
        #expect(try Tool.run("get", "cities/SF", in: folder).status == 0)
        #expect(try Tool.run("get", "people/ada", in: folder).status == 1)
        #expect(try Tool.run("check", in: folder).status == 0)
    }
}

@Suite struct EvictCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.file("in.ndjson", generatedLines(0..<2000))
        let result = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        #expect(result.status == 0, "\(result)")
    }

    @Test func `documents go in steps until the goal is reached`() throws {
        let result = try Tool.run(
            "evict", "50%", "--force", "--step-documents", "100", "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        let json = try result.json()
        let goal = try #require(json["goalBytes"] as? Int)
        let before = try #require(json["totalBytesBefore"] as? Int)
        #expect(goal == before / 2)
        #expect(try #require(json["totalBytesAfter"] as? Int) <= goal)
        #expect(json["isReached"] as? Bool == true)
        #expect(try #require(json["stepCount"] as? Int) >= 5)
        let evicted = try #require(json["evictedCount"] as? Int)
        #expect(json["documentCount"] as? Int == 2000 - evicted)
        #expect(try Tool.run("check", in: folder).status == 0)
        let text = try Tool.run("evict", "64MiB", in: folder)
        #expect(text.status == 0)
        #expect(text.output.contains("evicted 0 documents"))
    }

    @Test func `pinned documents stay, and a goal that cannot be reached is a finding`() throws {
        let result = try Tool.run(
            "evict", "0", "--force", "--pin", "c/d7", "--pin", "c/d1999", "--json", in: folder)
        #expect(result.status == 1, "\(result)")
        let json = try result.json()
        #expect(json["isReached"] as? Bool == false)
        #expect(json["documentCount"] as? Int == 2)
        #expect(try #require(json["pinnedCount"] as? Int) >= 2)
        #expect(try Tool.run("get", "c/d7", "c/d1999", in: folder).status == 0)
        #expect(try Tool.run("check", in: folder).status == 0)
    }
}

@Suite struct TrainCommandTests {
    @Test func `a dictionary is trained, and repacking makes the records smaller`() throws {
        let folder = try TemporaryFolder()
        let sample = PackageDirectory.path("Tests/Data/cities.ndjson").path
        _ = try Tool.run("import", sample, "-c", "cities", "--id", "id", in: folder)
        let before = try Tool.run("export", in: folder).output
        let result = try Tool.run("train", "--repack", "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        let json = try result.json()
        #expect(
            try #require(json["storedRecordBytesAfter"] as? Int)
                < #require(json["storedRecordBytesBefore"] as? Int))
        #expect(try #require(json["repackedCount"] as? Int) > 0)
        #expect(try Tool.run("export", in: folder).output == before)
        #expect(try Tool.run("check", in: folder).status == 0)
        let again = try Tool.run("train", in: folder)
        #expect(again.status == 0, "\(again)")
    }

    @Test func `with nothing to learn from nothing is changed`() throws {
        let folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
        let json = try Tool.run("train", "--json", in: folder).json()
        #expect(json["trained"] as? Bool == false)
        #expect(json["dictionaryID"] is NSNull)
        let text = try Tool.run("train", "--repack", in: folder)
        #expect(text.output.contains("no new dictionary"))
        #expect(text.status == 0)
    }
}

@Suite struct CheckCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.file("in.ndjson", generatedLines(0..<500))
        let result = try Tool.run(
            "import", file, "-c", "c", "--id", "id", "--index", "number", in: folder)
        #expect(result.status == 0, "\(result)")
    }

    @Test func `a whole store has no problems`() throws {
        let text = try Tool.run("check", in: folder)
        #expect(text.status == 0, "\(text)")
        #expect(text.output.hasPrefix("no problems: "))
        let json = try Tool.run("check", "--json", in: folder).json()
        #expect(json["problemCount"] as? Int == 0)
        #expect(json["documentCount"] as? Int == 500)
        #expect(json["indexEntryCount"] as? Int == 500)
    }

    @Test func `damage is listed, and the exit status says so`() throws {
        // A record's bytes are changed in place: its checksum no longer fits.
        let path = folder.store + "/data.mdb"
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        let marker = Data("document 123".utf8)
        var changed = 0
        var from = data.startIndex
        while let range = data.range(of: marker, in: from..<data.endIndex) {
            data[range.lowerBound] = UInt8(ascii: "D")
            changed += 1
            from = range.upperBound
        }
        #expect(changed > 0)
        try data.write(to: URL(fileURLWithPath: path))

        let result = try Tool.run("check", "--json", in: folder)
        #expect(result.status == 1, "\(result)")
        let json = try result.json()
        #expect(try #require(json["problemCount"] as? Int) > 0)
        let problems = try #require(json["problems"] as? [[String: String]])
        #expect(problems.allSatisfy { $0["table"] != "" && $0["message"] != "" })
        let text = try Tool.run("check", "--max-problems", "0", in: folder)
        #expect(text.status == 1)
        #expect(text.output.contains("more problem"))
        let get = try Tool.run("get", "c/d123", in: folder)
        #expect(get.status == 65, "\(get)")
        #expect(get.messages.contains("'larder check' lists the damage"))
    }
}

@Suite struct CopyCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.file("in.ndjson", generatedLines(0..<2000))
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        _ = try Tool.run("evict", "30%", in: folder)
    }

    @Test(arguments: ["copy", "compact"])
    func `a copy holds the same documents`(command: String) throws {
        let target = folder.path + "/target"
        let result = try Tool.run(command, target, "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        let json = try result.json()
        let before = try #require(json["fileBytesBefore"] as? Int)
        let after = try #require(json["fileBytesAfter"] as? Int)
        #expect(command == "compact" ? after < before : after > 0)
        let original = try Tool.run("export", in: folder).output
        let copied = try Tool.run(["export", "--store", target], in: folder)
        #expect(copied.output == original)
        #expect(try Tool.run(["check", "--store", target], in: folder).status == 0)
    }

    @Test(arguments: ["copy", "compact"])
    func `a directory that holds something is left alone`(command: String) throws {
        let result = try Tool.run(command, folder.path, in: folder)
        #expect(result.status == 73, "\(result)")
        #expect(result.messages.contains("name a missing or empty directory"))
    }
}
