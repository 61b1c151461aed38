import Foundation
import Testing

@testable import LarderTool

@Suite struct ExportCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// One document with a value of every type, and names that the notation itself uses.
    private static let everything = #"""
        {"$name":"all/types","null":null,"yes":true,"int":9223372036854775807,"whole":1.0,"nan":{"$double":"NaN"},"t":{"$timestamp":"2026-01-31T12:00:00.000001Z"},"b":{"$bytes":"AP8="},"r":{"$reference":"projects/p/databases/d/documents/a/b"},"g":{"latitude":1.5,"longitude":-2.0},"v":{"$vector":[1.0,0.5]},"a":[1,"x",{"k":[]}],"m":{"$map":{"latitude":1,"longitude":2}},"text":"é \"quoted\"\n😀"}
        {"$name":"all/named","$fields":{"$name":"mine","$fields":{"$map":{"$bytes":1}},"latitude":1}}
        {"$name":"all/point","latitude":1,"longitude":2}
        {"$name":"all/types/below/x","$fields":{"$fields":{"latitude":1,"longitude":2}}}
        {"$name":"all/types/below/y","empty":{}}
        {"$name":"other/__id7__"}

        """#

    @Test func `everything is imported unchanged`() throws {
        let file = try folder.file("in.ndjson", Self.everything)
        let first = try Tool.run("import", file, in: folder)
        #expect(first.status == 0, "\(first)")
        let exported = try Tool.run("export", in: folder)
        #expect(exported.status == 0, "\(exported)")
        #expect(exported.lines.count == 6)

        let second = try TemporaryFolder()
        let copied = try Tool.run("import", "-", in: second, input: exported.output)
        #expect(copied.status == 0, "\(copied)")
        #expect(try Tool.run("export", in: second).output == exported.output)
        #expect(exported.output.contains(#""m":{"$map":{"latitude":1,"longitude":2}}"#))
        #expect(exported.output.contains(#""whole":1.0"#))
        #expect(exported.output.contains(#"{"$name":"all/point","latitude":1,"longitude":2}"#))
        for line in exported.lines {
            #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
        }
    }

    @Test func `one collection is written, with --recursive those below its documents`() throws {
        _ = try Tool.run("import", try folder.file("in.ndjson", Self.everything), in: folder)
        let one = try Tool.run("export", "all", in: folder)
        #expect(one.lines.count == 3)
        let below = try Tool.run("export", "all/types/below", in: folder)
        #expect(below.lines.count == 2)
        let recursive = try Tool.run("export", "all", "--recursive", in: folder)
        #expect(recursive.lines.count == 5)
        let missing = try Tool.run("export", "nothing", in: folder)
        #expect(missing.status == 66)
        #expect(missing.messages.contains("there is no collection 'nothing'"))
    }

    @Test func `with --id the id is a field, as the import took it`() throws {
        let text = "{\"id\":\"b\",\"n\":2}\n{\"id\":\"a\",\"n\":1}\n"
        let file = try folder.file("in.ndjson", text)
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        let plain = try Tool.run("export", "c", "--id", "id", in: folder)
        #expect(plain.output == "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n")
        let other = try Tool.run("export", "c", "--id", "n", in: folder)
        #expect(other.status == 65)
        #expect(other.messages.contains("the field 'n' of the document"))
        _ = try Tool.run("import", file, "-c", "kept", "--id", "id", "--keep-id", in: folder)
        #expect(try Tool.run("export", "kept", "--id", "id", in: folder).output == plain.output)
    }

    @Test func `a collection can be copied to another path`() throws {
        _ = try Tool.run("import", try folder.file("in.ndjson", Self.everything), in: folder)
        let lines = try Tool.run("export", "all", in: folder).output
        let result = try Tool.run("import", "-", "-c", "copies", in: folder, input: lines)
        #expect(result.status == 0, "\(result)")
        let copied = try Tool.run("export", "copies", in: folder).output
        #expect(copied == lines.replacingOccurrences(of: "\"all/", with: "\"copies/"))
    }

    @Test func `a file is replaced only when all is written`() throws {
        try Tool.makeStore(in: folder)
        try folder.file("out.ndjson", "old\n")
        let path = folder.path + "/out.ndjson"
        let failed = try Tool.run("export", "nothing", "-o", path, in: folder)
        #expect(failed.status == 66)
        #expect(try folder.content("out.ndjson") == "old\n")
        let result = try Tool.run("export", "-o", path, "--json", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["documentCount"] as? Int == 5)
        #expect(try result.json()["collectionCount"] as? Int == 4)
        #expect(try folder.content("out.ndjson") == Tool.run("export", in: folder).output)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!names.contains { $0.hasSuffix(".tmp") })
        let nowhere = try Tool.run("export", "-o", folder.path + "/no/out", in: folder)
        #expect(nowhere.status == 73)
    }

    @Test func `a generated collection is imported completely`() throws {
        let file = try folder.file("in.ndjson", generatedLines(0..<3000))
        _ = try Tool.run("import", file, "-c", "c", "--id", "id", in: folder)
        let lines = try Tool.run("export", "c", "--id", "id", in: folder).lines
        func sorted(_ lines: [String]) throws -> [NSDictionary] {
            let objects = try lines.map { line in
                try #require(
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? NSDictionary)
            }
            return objects.sorted { ($0["number"] as? Int ?? 0) < ($1["number"] as? Int ?? 0) }
        }
        let exported = try sorted(lines)
        let original = generatedLines(0..<3000).split(separator: "\n").map(String.init)
        #expect(exported == (try sorted(original)))
        #expect(exported.count == 3000)
    }
}
