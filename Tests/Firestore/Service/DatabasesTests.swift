import Dispatch
import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Server: databases and their folders")
struct DatabasesTests {
    private func folder(_ project: String, _ database: String) throws -> String {
        try DatabaseFolder(DatabaseID(project: project, database: database)).path
    }

    @Test("Usual names stay as they are")
    func usual() throws {
        #expect(try folder("demo-1", "(default)") == "demo-1/(default)")
        #expect(try folder("example.com_x", "second") == "example.com_x/second")
    }

    @Test("No name leads elsewhere")
    func tricks() throws {
        #expect(try folder("..", ".") == "%2E./%2E")
        #expect(try folder("a/b", "../../x") == "a%2Fb/%2E.%2F..%2Fx")
        #expect(try folder("a\0b", "é") == "a%00b/%C3%A9")
        #expect(try folder("%2E", "x") == "%252E/x")
        #expect(try folder(".hidden", "a.b") == "%2Ehidden/a.b")
    }

    @Test("No two names have one folder")
    func injective() throws {
        let names = ["a", "%61", ".", "%2E", "%2e", "a/b", "a%2Fb", "A", "é", "e\u{301}", "a b"]
        let folders = try names.map { try folder($0, "x") }
        #expect(Set(folders).count == names.count)
    }

    @Test("Names that no file system takes are refused")
    func long() throws {
        #expect(code { try folder(String(repeating: "x", count: 241), "x") } == .invalidArgument)
        #expect(code { try folder("x", String(repeating: "é", count: 41)) } == .invalidArgument)
        #expect(code { try folder("", "x") } == .invalidArgument)
    }

    /// Opens a database and makes a document in it, so that it does not make room at once.
    @discardableResult
    private func fill(_ project: String, _ databases: Databases) async throws -> DatabaseContext {
        let id = DatabaseID(project: project)
        let database = DatabaseContext(DatabaseNames(id), try await databases.database(id))
        let path = try DocumentPath("c/d")
        _ = try await database.commit([Mutation(.set(try Record([:])), at: path)])
        return database
    }

    @Test("A database is opened once, and no more than the limit says")
    func limit() async throws {
        let databases = Databases(.memory, limit: 2)
        let first = try await fill("a", databases).backend
        let again = try await databases.database(DatabaseID(project: "a"))
        #expect(first === again)
        try await fill("b", databases)
        let refused = await asyncCode { try await databases.database(DatabaseID(project: "c")) }
        #expect(refused == .resourceExhausted)
        #expect(try await databases.database(DatabaseID(project: "b")) !== first)
        #expect(databases.count == 2)
        #expect(await databases.close().isEmpty)
    }

    @Test("Clients of one address open no more than their share, and make room only for each other")
    func limitPerAddress() async throws {
        let databases = Databases(.memory, limit: 10, limitPerAddress: 2)
        let ledger = MemoryLedger(limit: .max)
        /// Opens a database for a client, with a document or without.
        func open(_ project: String, _ address: String, isFilled: Bool = true) async -> Int? {
            let account = ledger.open(for: address) { $0() }
            defer { account.close() }
            let origin = CallOrigin(account, account.open())
            let refusal = await CallOrigin.$current.withValue(origin) {
                await asyncCode {
                    if isFilled {
                        try await fill(project, databases)
                    } else {
                        _ = try await databases.database(DatabaseID(project: project))
                    }
                }
            }
            return refusal == nil ? databases.count : nil
        }
        #expect(await open("a", "1") == 1)
        #expect(await open("b", "1") == 2)
        #expect(await open("c", "1") == nil && databases.count == 2)
        // Others are not concerned, nor are open databases.
        #expect(await open("d", "2", isFilled: false) == 3)
        #expect(await open("a", "1") == 3)
        #expect(await open("d", "1", isFilled: false) == 3)
        #expect(await open("c", "1") == nil && databases.count == 3)
        // One without documents makes room for its client.
        #expect(await open("e", "2") == 4)
        #expect(await open("f", "2") == 4)
        #expect(await open("g", "2") == nil)
        // The server itself has no share.
        try await fill("h", databases)
        #expect(databases.count == 5)
        #expect(await databases.close().isEmpty)
    }

    @Test("Who asks at the same time gets the same database")
    func together() async throws {
        let databases = Databases(.memory, limit: 1)
        let opened = try await withThrowingTaskGroup(of: Backend.self) { group in
            for _ in 0..<50 {
                group.addTask { try await databases.database(DatabaseID(project: "a")) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(opened.map(ObjectIdentifier.init)).count == 1)
        #expect(await databases.close().isEmpty)
    }

    @Test(
        "A database that was not used for a while makes room, and opens again on request")
    func idle() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        let databases = Databases(
            .directory(directory.file("data")), limit: 2, idleTime: .seconds(600),
            now: { clock.now })
        func open(_ project: String) async throws -> DatabaseContext {
            let id = DatabaseID(project: project)
            return DatabaseContext(DatabaseNames(id), try await databases.database(id))
        }
        let path = try DocumentPath("c/d")
        let first = try await fill("a", databases)
        clock.advance(by: .seconds(300))
        let second = try await fill("b", databases)
        clock.advance(by: .seconds(299))
        #expect(await asyncCode { try await open("c") } == .resourceExhausted)
        // The first has been unused the longest; a stream keeps it.
        let stream = first.backend.openWriteStream(as: Credentials()) { _ in }
        clock.advance(by: .seconds(1))
        #expect(await asyncCode { try await open("c") } == .resourceExhausted)
        stream.close()
        #expect(await asyncCode { try await open("c") } == .resourceExhausted, "just looked at")
        clock.advance(by: .seconds(599))
        // The second is now the least recently used.
        _ = try await open("c")
        #expect(throws: LarderError.self) { try second.backend.document(at: path) }
        #expect(try first.backend.document(at: path) != nil)
        clock.advance(by: .seconds(1))
        _ = try await open("b")
        #expect(throws: LarderError.self) { try first.backend.document(at: path) }
        clock.advance(by: .seconds(600))
        #expect(try await open("a").backend.document(at: path) != nil)
        #expect(databases.count == 2)
        #expect(await databases.close().isEmpty)
    }

    @Test("A database that call after call is about counts as used")
    func latest() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        let databases = Databases(
            .directory(directory.file("data")), limit: 2, idleTime: .seconds(600),
            now: { clock.now })
        func ask(_ project: String) throws -> String? {
            let name = "projects/\(project)/databases/(default)"
            return try databases.opened("\(name)/documents/c/d")?.0.id.project
        }
        #expect(try ask("a") == nil)
        for project in ["a", "b"] { try await fill(project, databases) }
        for seconds in [300, 299] {
            clock.advance(by: .seconds(seconds))
            #expect(try ask("b") == "b")
        }
        clock.advance(by: .seconds(301))
        try await fill("c", databases)
        #expect(await asyncCode { try await databases.database(DatabaseID(project: "d")) } != nil)
        #expect(try ask("a") == nil && ask("c") == "c" && ask("b") == "b")
        #expect(await databases.close().isEmpty)
        #expect(throws: LarderError.self) { try ask("b") }
    }

    @Test("Databases in memory stay: nothing of them would be left")
    func idleInMemory() async throws {
        let clock = ManualClock()
        let databases = Databases(
            .memory, limit: 1, idleTime: .seconds(600), now: { clock.now })
        let backend = try await fill("a", databases).backend
        clock.advance(by: .seconds(6_000))
        #expect(
            await asyncCode { try await databases.database(DatabaseID(project: "b")) }
                == .resourceExhausted)
        #expect(try await databases.database(DatabaseID(project: "a")) === backend)
        #expect(await databases.close().isEmpty)
    }

    @Test("A second close waits for the first")
    func closedTwice() async throws {
        let databases = Databases(.memory, limit: 1)
        let id = DatabaseID(project: "a")
        let backend = try await databases.database(id)
        let path = try DocumentPath("c/d")
        _ = try await DatabaseContext(DatabaseNames(id), backend).commit([
            Mutation(.set(try Record([:])), at: path)
        ])
        let (isReading, isEnding) = (Awaited(false), Awaited(false))
        let mayEnd = DispatchSemaphore(value: 0)
        // What is being read keeps the files open.
        WorkPool("test", limit: 1).perform {
            _ = try? backend.runQuery(Query(.collection(path.parent)), as: Credentials()) {
                _ throws(LarderError) in
                isReading.change { $0 = true }
                mayEnd.wait()
                return .stop
            }
        }
        await isReading.wait { $0 }
        let first = Task { await databases.close().isEmpty }
        while await asyncCode({ try await databases.database(id) }) == nil { await Task.yield() }
        let second = Task { (await databases.close().isEmpty, isEnding.value) }
        for _ in 0..<1_000 { await Task.yield() }
        isEnding.change { $0 = true }
        mayEnd.signal()
        #expect(await second.value == (true, true))
        #expect(await first.value)
    }

    @Test("Nothing is opened once it is closed")
    func closed() async throws {
        let databases = Databases(.memory, limit: 2)
        let backend = try await databases.database(DatabaseID(project: "a"))
        #expect(await databases.close().isEmpty)
        #expect(
            await asyncCode { try await databases.database(DatabaseID(project: "a")) }
                == .unavailable)
        #expect(throws: LarderError.self) { try backend.document(at: DocumentPath("c/d")) }
        #expect(await databases.close().isEmpty)
    }

    // MARK: Databases that do not exist

    private func isEmpty(_ directory: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty
    }

    @Test("Reads of databases that do not exist create and open nothing")
    func absent() async throws {
        let directory = try TemporaryDirectory()
        let databases = Databases(.directory(directory.file("data")), limit: 2)
        try FileManager.default.createDirectory(
            atPath: directory.file("data"), withIntermediateDirectories: true)
        let path = try DocumentPath("c/d")
        for number in 0..<100 {
            let backend = try await databases.readableDatabase(DatabaseID(project: "p\(number)"))
            #expect(try backend.document(at: path) == nil)
        }
        #expect(try databases.count == 0 && isEmpty(directory.file("data")))
        // A new one can still be written to, and is then read.
        let id = DatabaseID(project: "p7")
        let context = DatabaseContext(DatabaseNames(id), try await databases.database(id))
        _ = try await context.commit([Mutation(.set(try Record([:])), at: path)])
        #expect(try await databases.readableDatabase(id).document(at: path) != nil)
        #expect(await databases.close().isEmpty)
        // So is one that is not open, but exists.
        let later = Databases(.directory(directory.file("data")), limit: 2)
        #expect(try await later.readableDatabase(id).document(at: path) != nil)
        #expect(later.count == 1)
        #expect(await later.close().isEmpty)
    }

    @Test("Rules refuse reads of a database that does not exist as those of one that does")
    func rulesOfAbsent() async throws {
        let databases = Databases(
            .memory, limit: 4,
            rules: { id in
                { _ in id.project == "open" ? .allow : .deny(reason: "\(id.project) is private") }
            })
        let path = try DocumentPath("c/d")
        let credentials = Credentials()
        _ = try await databases.database(DatabaseID(project: "existing"))
        for project in ["existing", "absent"] {
            let id = DatabaseID(project: project)
            let backend = try await databases.readableDatabase(id)
            func refusal(_ body: () throws(LarderError) -> Void) -> String? {
                do throws(LarderError) {
                    try body()
                    return nil
                } catch {
                    return error.kind == .permissionDenied ? error.message : "\(error)"
                }
            }
            let expected = "the rules deny it: \(project) is private"
            #expect(
                refusal { () throws(LarderError) in
                    _ = try backend.documents(at: [path], as: credentials)
                } == expected)
            let query = Query(.collection(try CollectionPath("c")))
            #expect(
                refusal { () throws(LarderError) in
                    _ = try backend.runQuery(query, as: credentials) { _ in .continue }
                } == expected)
            #expect(
                refusal { () throws(LarderError) in
                    _ = try backend.aggregates([.count], over: query, as: credentials)
                } == expected)
        }
        let allowed = try await databases.readableDatabase(DatabaseID(project: "open"))
        #expect(try allowed.documents(at: [path], as: credentials).readings.count == 1)
        #expect(databases.count == 1)
        #expect(await databases.close().isEmpty)
    }

    @Test("A database without documents makes room at once, although clients listen to it")
    func empties() async throws {
        let directory = try TemporaryDirectory()
        let databases = Databases(
            .directory(directory.file("data")), limit: 3, now: { .seconds(1) })
        let path = try DocumentPath("c/d")
        let id = DatabaseID(project: "used")
        let used = DatabaseContext(DatabaseNames(id), try await databases.database(id))
        _ = try await used.commit([Mutation(.set(try Record([:])), at: path)])
        var streams: [any WatchStream] = []
        let ended = Awaited(0)
        for number in 0..<20 {
            let backend = try await databases.database(DatabaseID(project: "p\(number)"))
            let stream = backend.openWatchStream(as: Credentials()) { event in
                if case .closed(let error) = event, error?.kind == .unavailable {
                    ended.change { $0 += 1 }
                }
            }
            streams.append(stream)
        }
        await ended.wait { $0 == 18 }
        #expect(try databases.count == 3 && used.backend.document(at: path) != nil)
        let folders = try FileManager.default.contentsOfDirectory(atPath: directory.file("data"))
        #expect(folders.count == 3 && folders.contains("used"))
        for stream in streams { stream.close() }
        #expect(await databases.close().isEmpty)
        // Nothing was ever written to the others.
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.file("data"))
                == ["used"])
    }

    @Test("A damaged database answers errors for itself; the others go on")
    func damaged() async throws {
        let directory = try TemporaryDirectory()
        let data = directory.file("data")
        let path = try DocumentPath("c/d")
        func open(_ project: String, _ databases: Databases) async throws -> DatabaseContext {
            let id = DatabaseID(project: project)
            return DatabaseContext(DatabaseNames(id), try await databases.database(id))
        }
        let first = Databases(.directory(data), limit: 3)
        for project in ["a", "b"] {
            let database = try await open(project, first)
            _ = try await database.commit([Mutation(.set(try Record([:])), at: path)])
        }
        #expect(await first.close().isEmpty)
        let file = "\(data)/a/(default)/data.mdb"
        let size = try #require(FileManager.default.contents(atPath: file)?.count)
        try Data(repeating: 0x55, count: size).write(to: URL(fileURLWithPath: file))
        let databases = Databases(.directory(data), limit: 3)
        for _ in 0..<3 {
            #expect(await asyncCode { try await open("a", databases) } != nil)
            let other = try await open("b", databases)
            #expect(try other.backend.document(at: path) != nil)
        }
        #expect(databases.count == 1)
        #expect(await databases.close().isEmpty)
    }
}
