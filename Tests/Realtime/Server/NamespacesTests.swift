import Foundation
import LarderCore
import LarderHTTP
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Logging
import Testing

@testable import LarderRealtimeBackend
@testable import LarderRealtimeServer

@Suite("Realtime: the namespaces of a server")
struct NamespacesTests {
    private let time = Box<Duration>(.zero)

    private func namespaces(
        _ storage: RealtimeServerConfiguration.Storage, limit: Int = 2,
        limitPerAddress: Int = .max
    ) -> Namespaces {
        var configuration = RealtimeServerConfiguration(storage)
        configuration.namespaces = limit
        configuration.namespacesPerAddress = limitPerAddress
        let time = time
        return Namespaces(configuration) { time.withLock { $0 } }
    }

    private func write(_ text: String, to use: NamespaceUse) async throws {
        let write = TreeWrite(.root, try Node(parsing: text))
        let name = use.namespace.name
        await withCheckedContinuation { continuation in
            use.namespace.backend.write(write, in: name) { _ in continuation.resume() }
        }
    }

    private func tree(_ use: NamespaceUse) -> String {
        "\(use.namespace.backend.tree(of: use.namespace.name))"
    }

    @Test("a namespace is opened once, and has files of its own")
    func opens() async throws {
        let directory = try TemporaryDirectory()
        let namespaces = namespaces(.directory(directory.path))
        let first = try await namespaces.use("a/b")
        let second = try await namespaces.use("a/b")
        #expect(first.namespace === second.namespace && namespaces.count == 1)
        try await write("1", to: first)
        async let other: Void = namespaces.close()
        try await namespaces.close()
        // Whichever call was the first: everything has ended.
        #expect(OpenMarker.namespaces(in: directory.path).isEmpty)
        try await other
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["a%2Fb"])
        let again = self.namespaces(.directory(directory.path))
        #expect(tree(try await again.useForReading("a/b")) == "1")
        try await again.close()
    }

    @Test("what sessions have left is written by the start of a server after a kill")
    func recovery() async throws {
        let directory = try TemporaryDirectory()
        let namespaces = namespaces(.directory(directory.file("killed")))
        let use = try await namespaces.use("a/b")
        let client = await LawClient(use.namespace.backend.remote("a/b"))
        let request = RealtimeRequest.onDisconnectPut(
            TreePath("n"), Node(.deferred(.increment(LeafNumber(1)))))
        #expect(await client.send(request) == ["ok"])
        // What a kill leaves.
        let copy = directory.file("copy")
        try FileManager.default.copyItem(atPath: directory.file("killed"), toPath: copy)
        #expect(OpenMarker.namespaces(in: copy) == ["a/b"])
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        for _ in 0..<2 {
            let restarted = self.namespaces(.directory(copy))
            await restarted.recover(logger)
            #expect(restarted.count == 0 && OpenMarker.namespaces(in: copy).isEmpty)
            #expect(tree(try await restarted.use("a/b")) == #"{"n":1}"#)
            #expect(OpenMarker.namespaces(in: copy) == ["a/b"])
            try await restarted.close()
        }
        try await namespaces.close()
        #expect(OpenMarker.namespaces(in: directory.file("killed")).isEmpty)
    }

    @Test("reading what does not exist, or writing nothing, leaves no files")
    func leavesNothing() async throws {
        let directory = try TemporaryDirectory()
        let namespaces = namespaces(.directory(directory.path))
        #expect(tree(try await namespaces.useForReading("a")) == "null")
        #expect(namespaces.count == 0)
        _ = try await namespaces.use("b")
        try await namespaces.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test("at the limit an idle namespace is closed, and none that is used or in memory")
    func limit() async throws {
        let directory = try TemporaryDirectory()
        let namespaces = namespaces(.directory(directory.path))
        try await write("1", to: try await namespaces.use("a"))
        var second: NamespaceUse? = try await namespaces.use("b")
        try await write("2", to: try #require(second))
        await #expect(throws: LarderError.self) { try await namespaces.use("c") }
        time.withLock { $0 = .seconds(600) }
        _ = try await namespaces.use("c")
        #expect(namespaces.count == 2)
        second = nil
        // It has no data, and its place is free.
        #expect(tree(try await namespaces.use("a")) == "1")
        try await namespaces.close()
        await #expect(throws: LarderError.self) { try await namespaces.use("a") }
        try await namespaces.close()
    }

    @Test("in memory the namespace without data that was idle for the longest time makes room")
    func limitInMemory() async throws {
        let namespaces = namespaces(.memory, limit: 3)
        try await write("1", to: try await namespaces.use("filled"))
        let used = try await namespaces.use("used")
        for number in 0..<100 {
            time.withLock { $0 += .seconds(1) }
            _ = try await namespaces.use("empty\(number)")
        }
        #expect(namespaces.count == 3)
        #expect(try namespaces.opened("empty99") != nil)
        #expect(try namespaces.opened("filled").map(tree) == "1")
        _ = consume used
        // One whose data was deleted is like one that never had any.
        try await write("null", to: try await namespaces.use("filled"))
        for name in ["a", "b", "c"] {
            time.withLock { $0 += .seconds(1) }
            try await write("2", to: try await namespaces.use(name))
        }
        // Data in memory is never discarded.
        let error = await #expect(throws: LarderError.self) { try await namespaces.use("d") }
        #expect(error?.message.contains("--databases") == true)
        try await namespaces.close()
    }

    @Test("clients of one address open no more than their share, and make room only for each other")
    func limitPerAddress() async throws {
        let namespaces = namespaces(.memory, limit: 10, limitPerAddress: 2)
        let ledger = MemoryLedger(limit: .max)
        /// Opens a namespace for a client, with data or without.
        ///
        /// - Returns: the number of open namespaces; nil if it is refused.
        func open(_ name: String, _ address: String, isFilled: Bool = true) async -> Int? {
            let account = ledger.open(for: address) { $0() }
            defer { account.close() }
            return await CallOrigin.$current.withValue(CallOrigin(account, account)) {
                guard let use = try? await namespaces.use(name) else { return nil }
                if isFilled { try? await write("1", to: use) }
                return namespaces.count
            }
        }
        #expect(await open("a", "1") == 1)
        #expect(await open("b", "1") == 2)
        #expect(await open("c", "1") == nil)
        // Others are not concerned, nor are open namespaces.
        #expect(await open("d", "2", isFilled: false) == 3)
        #expect(await open("a", "1") == 3)
        #expect(await open("d", "1", isFilled: false) == 3)
        #expect(await open("c", "1") == nil)
        // One without data makes room for its client.
        #expect(await open("e", "2") == 4)
        #expect(await open("f", "2") == 4)
        #expect(await open("g", "2") == nil)
        // The server itself has no share.
        try await write("1", to: try await namespaces.use("h"))
        #expect(namespaces.count == 5)
        try await namespaces.close()
    }

    @Test("trees come from files and go to files, and a namespace with data keeps it")
    func files() async throws {
        let directory = try TemporaryDirectory()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)))
        }
        let text = #"{"a":{".value":1,".priority":2},"list":{"0":1.5,"2":"é"}}"#
        try write(text, "first.json")
        try write("7", "a%2Fb.json")
        try write("8", "kept.json")
        func configuration() -> RealtimeServerConfiguration {
            var configuration = RealtimeServerConfiguration(.directory(directory.file("data")))
            configuration.exportTarget = ExportTarget(directory.file("out"))
            return configuration
        }
        let namespaces = Namespaces(configuration())
        try await self.write("9", to: try await namespaces.use("kept"))
        try await namespaces.importTrees(from: directory.path, logger)
        #expect(tree(try await namespaces.use("first")) == text)
        #expect(tree(try await namespaces.use("a/b")) == "7")
        #expect(tree(try await namespaces.use("kept")) == "9")
        try await namespaces.close()
        func exported(_ name: String) -> String {
            let path = directory.file("out/database_export/\(name).json")
            return (try? String(contentsOfFile: path, encoding: .utf8)) ?? "none"
        }
        #expect(exported("first") == text && exported("a%2Fb") == "7" && exported("kept") == "9")

        // Namespaces that this run has not opened are exported as well.
        try FileManager.default.removeItem(atPath: directory.file("out"))
        let again = Namespaces(configuration())
        try await self.write("10", to: try await again.use("kept"))
        try await again.close()
        #expect(exported("first") == text && exported("kept") == "10")
        let imported = self.namespaces(.memory, limit: 9)
        try await imported.importTrees(from: directory.file("out"), logger)
        // The console's names of files, and any name after that of the namespace.
        try write("11", "demo-export.json")
        try write("12", "seed.txt")
        try await imported.importTrees(from: directory.file("demo-export.json"), logger)
        #expect(tree(try await imported.use("demo")) == "11")
        try await imported.importTrees(from: "other=\(directory.file("seed.txt"))", logger)
        #expect(tree(try await imported.use("other")) == "12")
        for name in ["a/b=", "=", "x=\(directory.file("absent"))"] {
            await #expect(throws: LarderError.self) {
                try await imported.importTrees(from: name, logger)
            }
        }
        try write("13", "out/database_export/kept-export.json")
        try await imported.importTrees(
            from: directory.file("out/database_export/kept-export.json"), logger)
        #expect(tree(try await imported.use("kept-export")) == "13")
        #expect(tree(try await imported.use("first")) == text)
        try await imported.close()
    }

    @Test("a tree whose file cannot be written does not keep others from theirs")
    func failedExports() async throws {
        let directory = try TemporaryDirectory()
        let data = RealtimeServerConfiguration.Storage.directory(directory.file("data"))
        let closed = Namespaces(RealtimeServerConfiguration(data))
        for name in ["c1", "c2", "c3"] {
            try await write("1", to: try await closed.use(name))
        }
        try await closed.close()
        var configuration = RealtimeServerConfiguration(data)
        configuration.exportTarget = ExportTarget(directory.file("out"))
        let namespaces = Namespaces(configuration)
        for name in ["o1", "o2", "o3"] {
            try await write("1", to: try await namespaces.use(name))
        }
        let out = directory.file("out/database_export")
        for name in ["c2", "o2"] {
            // A folder that is not empty is in the place of the file.
            try FileManager.default.createDirectory(
                atPath: "\(out)/\(name).json/x", withIntermediateDirectories: true)
        }
        let error = await #expect(throws: LarderError.self) { try await namespaces.close() }
        #expect(error?.message.contains("c2") == true && error?.message.contains("o2") == true)
        for name in ["c1", "c3", "o1", "o3"] {
            #expect(try String(contentsOfFile: "\(out)/\(name).json", encoding: .utf8) == "1")
        }
    }

    @Test(
        "files that are none are refused with their place",
        arguments: [
            (#"{"a":\n1,}"#, "x.json, line 2, column 3"), (#"{"a/b":1}"#, "x.json: "),
            ("", "x.json, line 1"),
        ])
    func damagedFiles(text: String, message: String) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("x.json")
        try Data(text.replacing("\\n", with: "\n").utf8).write(to: URL(fileURLWithPath: path))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let namespaces = namespaces(.memory)
        for place in [path, directory.path] {
            let error = await #expect(throws: LarderError.self) {
                try await namespaces.importTrees(from: place, logger)
            }
            #expect(error?.kind == .invalidArgument)
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        }
        for place in [path + "2", directory.file("empty")] {
            await #expect(throws: LarderError.self) {
                try await namespaces.importTrees(from: place, logger)
            }
        }
        try await namespaces.close()
    }

    @Test("an import ends when the server stops, and nothing of its file is stored")
    func cancelledImport() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("x.json")
        try Data(#"{"a":1}"#.utf8).write(to: URL(fileURLWithPath: path))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let namespaces = namespaces(.memory)
        let flag = AtomicFlag()
        flag.set()
        let error = await #expect(throws: LarderError.self) {
            try await namespaces.importTrees(from: path, isCancelled: flag, logger)
        }
        #expect(error?.kind == .cancelled && error?.message.contains(path) == true)
        #expect(tree(try await namespaces.use("x")) == "null")
        try await namespaces.importTrees(from: path, logger)
        #expect(tree(try await namespaces.use("x")) == #"{"a":1}"#)
        try await namespaces.close()
    }

    @Test("rules that were replaced keep a namespace open")
    func rules() async throws {
        let namespaces = namespaces(.memory, limit: 1)
        let use = Box<NamespaceUse?>(try await namespaces.use("a"))
        use.withLock { use in
            use?.namespace.backend.setSecurityRules(.administratorsOnly, of: "a")
            use = nil
        }
        await #expect(throws: LarderError.self) { try await namespaces.use("b") }
        try await namespaces.close()
    }

    @Test(
        "empty and overlong names are refused", arguments: ["", String(repeating: "x", count: 300)])
    func names(name: String) async throws {
        for namespaces in [namespaces(.memory), namespaces(.directory("/nowhere"))] {
            let error = await #expect(throws: LarderError.self) { try await namespaces.use(name) }
            #expect(error?.kind == .invalidArgument)
        }
    }
}
