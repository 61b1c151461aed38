import Dispatch
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

    @Test("A database is opened once, and no more than the limit says")
    func limit() async throws {
        let databases = Databases(.memory, limit: 2)
        let first = try await databases.database(DatabaseID(project: "a"))
        let again = try await databases.database(DatabaseID(project: "a"))
        #expect(first === again)
        _ = try await databases.database(DatabaseID(project: "b"))
        let refused = await asyncCode { try await databases.database(DatabaseID(project: "c")) }
        #expect(refused == .resourceExhausted)
        #expect(try await databases.database(DatabaseID(project: "b")) !== first)
        #expect(databases.count == 2)
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
        let first = try await open("a")
        _ = try await first.commit([Mutation(.set(try Record([:])), at: path)])
        clock.advance(by: .seconds(300))
        let second = try await open("b")
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
        for project in ["a", "b"] { _ = try await databases.database(DatabaseID(project: project)) }
        for seconds in [300, 299] {
            clock.advance(by: .seconds(seconds))
            #expect(try ask("b") == "b")
        }
        clock.advance(by: .seconds(301))
        _ = try await databases.database(DatabaseID(project: "c"))
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
        let backend = try await databases.database(DatabaseID(project: "a"))
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
}
