import Foundation
import Larder
import LarderBackend
import LarderModel
import LarderTestSupport
import Testing

/// What the tool shows and does of a store's life with a backend.
@Suite(.timeLimit(.minutes(10))) struct BackendCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The store's database, with a backend that refuses to have documents of `secret` written.
    private func database() throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: folder.store)
        var backend = BackendConfiguration(project: configuration.project)
        backend.rules = { request in
            switch request.operation {
            case .create(let path), .update(let path), .delete(let path):
                path.string.hasPrefix("secret/") ? .deny(reason: "it is a secret") : .allow
            default: .allow
            }
        }
        configuration.backend = try Backend(backend).connection
        return try Firestore(configuration: configuration)
    }

    /// Has the backend refuse two writes, 1 and 2, and take a third.
    private func refuseTwo() async throws {
        let db = try database()
        let refused = [
            db.document("secret/a").enqueueSetData(["n": 1]),
            db.document("secret/b").enqueueSetData(["n": 2]),
        ]
        try await db.document("open/c").setData(["n": 3])
        for write in refused {
            await #expect(throws: (any Error).self) { try await write.acknowledged() }
        }
        try await db.terminate()
    }

    @Test func `dead letters are listed with their time, attempts, documents and reason`()
        async throws
    {
        try await refuseTwo()
        let result = try Tool.run("dead-letters", in: folder)
        #expect(result.status == 0 && result.lines.count == 3, "\(result)")
        #expect(result.lines[0].split(separator: " ").first == "WRITE", "\(result)")
        #expect(result.lines[1].contains("secret/a"), "\(result)")
        #expect(
            result.lines[2].hasSuffix("permissionDenied: the rules deny it: it is a secret"),
            "\(result)")
        let json = try Tool.run("dead-letters", "--json", in: folder).json()
        let letters = try #require(json["deadLetters"] as? [[String: Any]])
        #expect(letters.map { $0["write"] as? Int } == [1, 2])
        #expect(letters[0]["documents"] as? [String] == ["secret/a"])
        #expect(letters[0]["code"] as? String == "permissionDenied")
        #expect(letters[0]["attemptCount"] as? Int == 0)
    }

    @Test func `a dead letter is made again, or forgotten`() async throws {
        try await refuseTwo()
        let result = try Tool.run("dead-letters", "--retry", "1", "--discard", "2", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(
            result.lines == [
                "dead letter 1 is pending again as write 4", "discarded dead letter 2",
            ])
        let pending = try Tool.run("pending", in: folder)
        #expect(pending.lines.count == 2 && pending.lines[1].contains("secret/a"), "\(pending)")
        let none = try Tool.run("dead-letters", in: folder)
        #expect(none.status == 0 && none.output == "", "\(none)")
        #expect(none.messages == "larder: no dead letters\n")
    }

    @Test func `one that is not there is said, and the others are seen to`() async throws {
        try await refuseTwo()
        let result = try Tool.run(
            "dead-letters", "--discard", "1", "--discard", "9", "--json", in: folder)
        #expect(result.status == 1, "\(result)")
        #expect(result.messages.contains("there is no dead letter 9"), "\(result)")
        #expect(try result.json()["discarded"] as? [Int] == [1])
        #expect(try result.json()["missing"] as? [Int] == [9])
        let both = try Tool.run("dead-letters", "--retry", "2", "--discard", "2", in: folder)
        #expect(both.status == 64 && both.messages.contains("both contain 2"), "\(both)")
    }

    @Test func `targets are listed with their documents and resumption points`() async throws {
        #expect(try Tool.run("target", "list", in: folder).status == 66)
        let db = try database()
        try await db.document("cities/SF").setData(["n": 1])
        try await db.document("cities/LA").setData(["n": 2])
        let registration = db.collection("cities").addSnapshotListener { _, _ in }
        #expect(try await db.collection("cities").getDocuments(source: .server).count == 2)
        registration.remove()
        try await db.terminate()
        let result = try Tool.run("target", "list", in: folder)
        let line = try #require(result.lines.first { $0.contains("cities|") }, "\(result)")
        #expect(line.split(separator: " ")[1] == "2" && line.contains("a token of"), "\(result)")
        let json = try Tool.run("target", "list", "--json", in: folder).json()
        let targets = try #require(json["targets"] as? [[String: Any]])
        #expect(targets.contains { $0["documentCount"] as? Int == 2 })
    }

    // MARK: Bundles

    private func bundle(of database: DatabaseID) -> [UInt8] {
        var text = BundleText()
        for number in 0..<3 {
            text.add("cities/\(number)", ["n": .integer(Int64(number))], at: 10)
        }
        return text.bytes()
    }

    private func load(_ file: String, _ arguments: String...) throws -> ToolResult {
        try Tool.run(
            ["bundle", "load", file, "--store", folder.store] + arguments, in: folder)
    }

    @Test func `a bundle's documents come into a store, which is made`() throws {
        let file = try folder.file("b", bytes: bundle(of: BundleText.database))
        let result = try load(file, "--project", "p", "--database", "d")
        #expect(result.status == 0, "\(result)")
        #expect(result.lines.first?.hasPrefix("loaded 3 documents, ") == true, "\(result)")
        let found = try Tool.run("query", "cities", "--where", "n > 0", in: folder)
        #expect(found.lines.count == 3, "\(found)")
        let again = try load(file, "--project", "p", "--database", "d", "--json")
        #expect(try again.json()["documentCount"] as? Int == 3, "\(again)")
    }

    @Test func `a bundle comes from standard input, too`() throws {
        let file = try folder.file("b", bytes: bundle(of: BundleText.database))
        let result = try Tool.shell(
            "cat '\(file)' | $larder bundle load - --project p --database d", in: folder)
        #expect(result.status == 0 && result.output.hasPrefix("loaded 3 documents"), "\(result)")
    }

    @Test func `an invalid bundle or a missing file is reported and changes nothing`() throws {
        let bytes = bundle(of: BundleText.database)
        let whole = try folder.file("whole", bytes: bytes)
        let other = try load(whole, "--project", "other")
        #expect(other.status == 65 && other.messages.contains("no document of this"), "\(other)")
        let cut = try load(
            try folder.file("cut", bytes: bytes.dropLast(20)), "--project", "p", "--database", "d")
        #expect(cut.status == 65 && cut.messages.contains("malformed"), "\(cut)")
        for text in ["", "garbage", "3{}}"] {
            let result = try load(try folder.file("text", text))
            #expect(result.status == 65, "\(result)")
        }
        #expect(try load(folder.path + "/none").status == 66)
        #expect(try load(folder.path).status == 66)
        #expect(try load(whole, "--project", "p", "--database", "d").status == 0)
    }
}
