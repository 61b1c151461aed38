import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderTestSupport
import Logging
import Testing

@testable import LarderServer

@Suite("Server: databases from and to files")
struct DocumentFilesTests {
    private let directory: TemporaryDirectory
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Every type of a value, with the extremes.
    private static let fields: MapValue = [
        "null": .null, "true": .boolean(true), "false": .boolean(false),
        "zero": .integer(0), "smallest": .integer(.min), "largest": .integer(.max),
        "one": .double(1), "negative zero": .double(-0.0), "fraction": .double(0.1),
        "huge": .double(1.7976931348623157e308), "tiny": .double(.leastNonzeroMagnitude),
        "nan": .double(.nan), "infinity": .double(.infinity), "-infinity": .double(-.infinity),
        "empty": .string(""), "text": .string("a\"\\\n\u{1}\u{7F}é😀\0\u{2028}"),
        "epoch": .timestamp(.epoch),
        "first": .timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 0)),
        "last": .timestamp(Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_000)),
        "no bytes": .bytes([]), "bytes": .bytes(Array(0...255)),
        "reference": .reference(
            ResourceName("projects/p/databases/(default)/documents/cities/SF")),
        "point": .geoPoint(GeoPoint(latitude: -90, longitude: 180)),
        "vector": .vector([1, -2.5, .infinity, -0.0]),
        "no elements": .array([]), "elements": .array([.integer(1), .map(["a": .array([.null])])]),
        "no entries": .map([:]), "map": .map(["a": .map(["b": .map(["é": .bytes([1])])])]),
        "like bytes": .map(["$bytes": .string("aGVsbG8=")]),
        "like a point": .map(["latitude": .integer(1), "longitude": .double(2)]),
        "like a map": .map(["$map": .map(["$map": .integer(1)])]),
    ]

    private func databases(_ storage: ServerConfiguration.Storage = .memory) -> Databases {
        Databases(storage, limit: 10, documentBytes: 10_000)
    }

    private var onDisk: ServerConfiguration.Storage { .directory(directory.file("data")) }

    /// Writes documents to a database.
    private func fill(
        _ databases: Databases, _ documents: [String: MapValue], _ project: String,
        _ database: String = "(default)"
    ) async throws {
        let backend = try await databases.database(
            DatabaseID(project: project, database: database))
        try backend.commitImported(
            documents.map { Mutation(.set(try Record($1)), at: try DocumentPath($0)) })
    }

    private func documents(
        _ databases: Databases, _ project: String, _ database: String = "(default)"
    ) async throws -> [String: MapValue] {
        let backend = try await databases.readableDatabase(
            DatabaseID(project: project, database: database))
        var documents: [String: MapValue] = [:]
        try backend.forEachDocument { documents[$0.string] = $1 }
        return documents
    }

    /// Closes databases with an export.
    private func export(_ databases: Databases, to name: String) async -> [LarderError] {
        databases.export(to: ExportTarget(directory.file(name)))
        return await databases.close().map(\.error)
    }

    /// The files of an export, by their paths in its folder.
    private func files(_ name: String) throws -> [String: String] {
        let folder = directory.file("\(name)/document_export")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return try Dictionary(
            uniqueKeysWithValues: paths.filter { $0.contains(".") }.map {
                ($0, try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8))
            })
    }

    /// Writes the file of a database.
    private func write(_ text: String, _ path: String, in name: String = "in") throws {
        let url = URL(fileURLWithPath: directory.file("\(name)/document_export/\(path)"))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func importError(
        _ databases: Databases, from path: String, isCancelled: AtomicFlag = AtomicFlag()
    ) async -> LarderError? {
        do throws(LarderError) {
            try await databases.importDocuments(from: path, isCancelled: isCancelled, logger)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Round trips

    @Test("Values of all types, projects and databases come back, and the lines stay the same")
    func roundTrip() async throws {
        let first = databases()
        let name = MapValue(["$name": .integer(1), "$fields": .null])
        try await fill(first, ["a/b": Self.fields, "a/b/c/d": [:], "é/ü": name], "demo")
        try await fill(first, ["a/b": ["n": .integer(2)]], "demo", "second")
        try await fill(first, ["a/b": ["n": .integer(3)]], "other:app/é", "x")
        #expect(await export(first, to: "out").isEmpty)
        let out = try files("out")
        #expect(
            Set(out.keys) == [
                "demo/(default).ndjson", "demo/second.ndjson",
                "other%3Aapp%2F%C3%A9/x.ndjson",
            ])
        #expect(out["demo/second.ndjson"] == "{\"$name\":\"a/b\",\"n\":2}\n")
        #expect(
            out["demo/(default).ndjson"]?.hasSuffix(
                "{\"$name\":\"é/ü\",\"$fields\":{\"$fields\":null,\"$name\":1}}\n") == true)

        for storage in [.memory, onDisk] {
            let second = databases(storage)
            #expect(await importError(second, from: directory.file("out")) == nil)
            #expect(
                try await documents(second, "demo")
                    == ["a/b": Self.fields, "a/b/c/d": [:], "é/ü": name])
            #expect(try await documents(second, "demo", "second") == ["a/b": ["n": .integer(2)]])
            #expect(
                try await documents(second, "other:app/é", "x") == ["a/b": ["n": .integer(3)]])
            #expect(await export(second, to: "again").isEmpty)
            #expect(try files("again") == out)
            try FileManager.default.removeItem(atPath: directory.file("again"))
        }
    }

    @Test("A single file is imported, in commits of many lines")
    func singleFile() async throws {
        let lines = (0..<1_234).map { "{\"$name\":\"c/d\($0)\",\"n\":\($0)}\n" }
        try write("\u{FEFF}\n" + lines.joined() + "  \n", "p/(default).ndjson")
        try write("{\"$name\":\"c/d\"}", "p/other.ndjson")
        let databases = databases(onDisk)
        let path = directory.file("in/document_export/p/(default).ndjson")
        #expect(await importError(databases, from: path) == nil)
        let documents = try await documents(databases, "p")
        #expect(documents.count == 1_234 && documents["c/d1233"] == ["n": .integer(1_233)])
        #expect(try await self.documents(databases, "p", "other").isEmpty)
        #expect(await databases.close().isEmpty)
    }

    @Test("Of two lines with one path the later holds, in one commit and in two")
    func duplicates() async throws {
        let lines = (0..<1_200).map { "{\"$name\":\"c/d\($0 % 600)\",\"n\":\($0)}\n" }
        try write("{\"$name\":\"c/d0\"}\n" + lines.joined(), "p/x.ndjson")
        let databases = databases()
        #expect(await importError(databases, from: directory.file("in")) == nil)
        let documents = try await documents(databases, "p", "x")
        #expect(documents.count == 600 && documents["c/d0"] == ["n": .integer(600)])
        #expect(await databases.close().isEmpty)
    }

    @Test("Lines that need several commits by their size are imported")
    func largeLines() async throws {
        let text = String(repeating: "x", count: 9_000)
        let lines = (0..<1_000).map { "{\"$name\":\"c/d\($0)\",\"t\":\"\(text)\"}\n" }
        try write(lines.joined(), "p/x.ndjson")
        let databases = databases()
        let shown = Box<[Int]>([])
        try await databases.importDocuments(
            from: directory.file("in"), { _, done, _ in shown.withLock { $0.append(done) } },
            logger)
        #expect(try await documents(databases, "p", "x").count == 1_000)
        let steps = shown.withLock { $0 }
        #expect(steps.count >= 8 && steps == steps.sorted())
        #expect(steps.last == lines.reduce(0) { $0 + $1.utf8.count })
        #expect(await databases.close().isEmpty)
    }

    @Test("A database with documents keeps them, one without is filled")
    func filled() async throws {
        try write("{\"$name\":\"c/new\"}\n", "p/kept.ndjson")
        try write("{\"$name\":\"c/new\"}\n", "p/emptied.ndjson")
        try write("", "p/nothing.ndjson")
        let first = databases(onDisk)
        try await fill(first, ["c/old": [:]], "p", "kept")
        try await fill(first, ["c/old": [:]], "p", "emptied")
        try await first.database(DatabaseID(project: "p", database: "emptied"))
            .deleteAllDocuments()
        #expect(await importError(first, from: directory.file("in")) == nil)
        #expect(try await documents(first, "p", "kept") == ["c/old": [:]])
        #expect(try await documents(first, "p", "emptied") == ["c/new": [:]])
        #expect(await first.close().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: directory.file("data/p/nothing")))
    }

    // MARK: Errors of imports

    @Test(
        "A line that is not valid is refused with its place, and nothing of its file stays",
        arguments: [
            ("{\"$name\":\"c/d\",\"n\":1,}", "line 602, column 22: "),
            ("{\"$name\":\"c/d\"", "line 602, column 15: "),
            ("{\"n\":1}", "line 602: no $name"), ("[]", "line 602: "),
            ("{\"$name\":\"c\"}", "line 602: "), ("{\"$name\":1}", "line 602: "),
            ("{\"$name\":\"c/d\",\"n\":1,\"n\":2}", "line 602: duplicate name 'n'"),
            ("{\"$name\":\"c/d\",\"b\":{\"$bytes\":\"*\"}}", "line 602, column 20: $bytes takes"),
            ("{\"$name\":\"c/d\",\"__a__\":1}", "line 602: the field name '__a__' is reserved"),
            ("{\"$name\":\"c/d\",\"a\":[[]]}", "line 602: an array directly in an array"),
            (
                "{\"$name\":\"c/d\",\"a\":\"\(String(repeating: "x", count: 10_000))\"}",
                "line 602: "
            ),
            (
                "{\"$name\":\"c/d\",\"a\":\"\(String(repeating: "x", count: 80_000))\"}",
                "line 602: a document of more than 80000 bytes of text"
            ),
        ])
    func damagedLines(line: String, message: String) async throws {
        let lines = (0..<600).map { "{\"$name\":\"c/d\($0)\"}\n" }
        try write("{\"$name\":\"c/d\"}\n", "a/before.ndjson")
        try write(
            lines.joined() + "\n" + line + "\n{\"$name\":\"c/after\"}\n", "p/(default).ndjson")
        let storages = [.memory, onDisk]
        for storage in storages {
            let databases = databases(storage)
            let error = await importError(databases, from: directory.file("in"))
            let path = directory.file("in/document_export/p/(default).ndjson")
            #expect(error?.kind == .invalidArgument)
            #expect(
                error?.message.hasPrefix("\(path), \(message)") == true, "\(error?.message ?? "")")
            #expect(try await documents(databases, "p").isEmpty)
            #expect(try await documents(databases, "a", "before").count == 1)
            #expect(await databases.close().isEmpty)
        }
        let again = databases(onDisk)
        try write(lines.joined(), "p/(default).ndjson")
        #expect(await importError(again, from: directory.file("in")) == nil)
        #expect(try await documents(again, "p").count == 600)
        #expect(await again.close().isEmpty)
    }

    @Test("Compressed text and files that cannot be read are named")
    func unreadable() async throws {
        try write("", "p/x.ndjson")
        let path = directory.file("in/document_export/p/x.ndjson")
        try Data([0x1F, 0x8B, 8, 0]).write(to: URL(fileURLWithPath: path))
        let databases = databases()
        let compressed = await importError(databases, from: path)
        #expect(compressed?.message.hasPrefix("\(path), line 1: the input is compressed") == true)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let folder = await importError(databases, from: directory.file("in"))
        #expect(folder?.kind == .invalidArgument)
        #expect(folder?.message == "'\(path)' cannot be read: Is a directory")
        #expect(await databases.close().isEmpty)
    }

    @Test(
        "A file whose name is not that of a database is refused, others are passed over",
        arguments: [
            ("x.ndjson", "document_export/PROJECT/x.ndjson"), ("p/é.ndjson", "p/%C3%A9.ndjson"),
            ("p q/x.ndjson", "p%20q/x.ndjson"), ("p/%78.ndjson", "p/%2578.ndjson"),
        ])
    func names(path: String, expected: String) async throws {
        try write("{}", "p/readme.txt")
        try write("{}", "p/.x.ndjson.tmp")
        try write("{}", "p/.hidden.ndjson")
        let databases = databases()
        #expect(await importError(databases, from: directory.file("in")) == nil)
        #expect(databases.count == 0)
        try write("{}", path)
        let error = await importError(databases, from: directory.file("in"))
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains("/in/document_export/\(path)'") == true)
        #expect(error?.message.hasSuffix(expected) == true, "\(error?.message ?? "")")
        #expect(databases.count == 0)
        #expect(await databases.close().isEmpty)
    }

    @Test("The options tell files of documents from those of trees")
    func presence() throws {
        try Data().write(to: URL(fileURLWithPath: directory.file("tree.json")))
        #expect(try !ServerConfiguration.hasImports(at: directory.path))
        #expect(try !ServerConfiguration.hasImports(at: directory.file("tree.json")))
        try write("", "p/x.ndjson")
        #expect(try ServerConfiguration.hasImports(at: directory.file("in")))
        #expect(
            try ServerConfiguration.hasImports(
                at: directory.file("in/document_export/p/x.ndjson")))
        #expect(throws: LarderError.self) {
            try ServerConfiguration.hasImports(at: directory.file("absent"))
        }
    }

    @Test("An import ends when the server stops, and nothing of it stays")
    func cancelled() async throws {
        try write("{\"$name\":\"c/d\"}\n", "p/x.ndjson")
        let databases = databases()
        let flag = AtomicFlag()
        flag.set()
        let error = await importError(databases, from: directory.file("in"), isCancelled: flag)
        #expect(error?.kind == .cancelled)
        #expect(try await documents(databases, "p", "x").isEmpty)
        #expect(await databases.close().isEmpty)
    }

    // MARK: Exports

    @Test("Databases that this run has not opened are exported, too")
    func unopened() async throws {
        let first = databases(onDisk)
        try await fill(first, ["c/d": ["n": .integer(1)]], "a:b", "closed")
        #expect(await first.close().isEmpty)
        // Folders that are no databases.
        for name in [".realtime/x", "a%3Ab/empty"] {
            try FileManager.default.createDirectory(
                atPath: directory.file("data/\(name)"), withIntermediateDirectories: true)
        }
        let second = databases(onDisk)
        try await fill(second, ["c/d": ["n": .integer(2)]], "a:b", "open")
        #expect(await export(second, to: "out").isEmpty)
        #expect(
            try files("out") == [
                "a%3Ab/closed.ndjson": "{\"$name\":\"c/d\",\"n\":1}\n",
                "a%3Ab/open.ndjson": "{\"$name\":\"c/d\",\"n\":2}\n",
            ])
    }

    @Test("A database without documents replaces the file of an earlier run, and makes none")
    func emptied() async throws {
        let databases = databases()
        try write("{\"$name\":\"c/d\"}\n", "p/emptied.ndjson", in: "out")
        for name in ["emptied", "new"] {
            try await fill(databases, ["c/d": [:]], "p", name)
            try await databases.database(DatabaseID(project: "p", database: name))
                .deleteAllDocuments()
        }
        #expect(await export(databases, to: "out").isEmpty)
        #expect(try files("out") == ["p/emptied.ndjson": ""])
    }

    @Test("A file that cannot be written is an error, and the other databases are exported")
    func unwritable() async throws {
        let databases = databases()
        try await fill(databases, ["c/d": [:]], "p", "fine")
        try await fill(databases, ["c/d": [:]], "p", "broken")
        // A folder in place of the file: it cannot be replaced, whoever runs the test.
        let path = "p/broken.ndjson"
        try write("", "\(path)/x", in: "out")
        let errors = await export(databases, to: "out")
        #expect(errors.map(\.kind) == [.unavailable])
        let place = directory.file("out/document_export/\(path)")
        #expect(errors.first?.message.hasPrefix("'\(place)' cannot be written: ") == true)
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: directory.file("out/document_export/p")
            ).sorted() == ["broken.ndjson", "fine.ndjson"])

        let blocked = self.databases()
        try await fill(blocked, ["c/d": [:]], "p")
        try Data().write(to: URL(fileURLWithPath: directory.file("file")))
        #expect(await export(blocked, to: "file").map(\.kind) == [.unavailable])
    }

    @Test("Acknowledged writes are in the file, later ones are refused")
    func ended() async throws {
        let databases = databases()
        try await fill(databases, ["c/d": ["n": .integer(1)]], "p")
        let backend = try await databases.database(DatabaseID(project: "p"))
        await backend.stop()
        #expect(
            throws: LarderError.self,
            performing: {
                try backend.commitImported([
                    Mutation(.set(try Record([:])), at: try DocumentPath("c/e"))
                ])
            })
        #expect(await export(databases, to: "out").isEmpty)
        #expect(try files("out")["p/(default).ndjson"] == "{\"$name\":\"c/d\",\"n\":1}\n")
        #expect(throws: LarderError.self) { try backend.documentCount() }
    }

    @Test("Without an export nothing is written")
    func none() async throws {
        let databases = databases()
        try await fill(databases, ["c/d": [:]], "p")
        #expect(await databases.close().isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
