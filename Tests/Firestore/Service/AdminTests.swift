import LarderBackend
import LarderModel
import LarderRemote
import LarderWire
import Testing

@testable import LarderServer

@Suite("Server: what it answers besides gRPC")
struct AdminTests {
    private let databases = Databases(.memory, limit: 2)

    private func answer(
        _ method: String, _ path: String, token: String? = nil, authorization: String? = nil,
        web: WebAccess.Request = .init()
    ) async -> AdminAPI.Response {
        let admin = AdminAPI(
            databases: databases, streams: StreamCount(limit: 1), token: BearerToken(token),
            access: WebAccess(ServerConfiguration(storage: .memory)))
        return await admin.answer(
            .init(method: method, path: path, authorization: authorization, web: web))
    }

    @Test("It says that it is there")
    func health() async {
        #expect(await answer("GET", "/").body == "Ok\n")
        #expect(await answer("GET", "/?x=y").status == 200)
        let health = await answer("GET", "/health")
        #expect(health.body == #"{"status":"ok","databases":0,"streams":0}"# + "\n")
    }

    @Test(
        "What is not there is not found, and opens no database",
        arguments: [
            ("GET", "/nothing"), ("DELETE", "/emulator/v1/projects/p/databases/d"),
            ("GET", "/emulator/v1/projects/p/databases/d/documents"), ("OPTIONS", "/x"),
        ])
    func missing(method: String, path: String) async {
        #expect(await answer(method, path).status == 404)
        #expect(databases.count == 0)
    }

    @Test(
        "A path that names no database is refused",
        arguments: [
            "projects//databases/d", "projects/p/databases/", "projects/p%2f/databases/d",
            "projects/p/databases/d/documents/c", "projects/p/databases/%", "x", "projects/p",
        ])
    func malformed(name: String) async {
        let status = await answer("DELETE", "/emulator/v1/\(name)/documents").status
        #expect(status == 400)
        #expect(databases.count == 0)
    }

    @Test("A delete leaves no documents, in that database alone")
    func deletes() async throws {
        let ids = ["a", "b"].map { DatabaseID(project: $0) }
        for id in ids {
            let session = Session(DatabaseNames(id), try await databases.database(id))
            let mutations = try (0..<5).map {
                Mutation(.set(try Record([:])), at: try DocumentPath("c/\($0)"))
            }
            _ = try await session.commit(mutations)
        }
        let path = "/emulator/v1/projects/a/databases/%28default%29/documents"
        #expect(await answer("DELETE", path).status == 200)
        #expect(try await databases.database(ids[0]).documentCount() == 0)
        #expect(try await databases.database(ids[1]).documentCount() == 5)
        #expect(await databases.close().isEmpty)
        #expect(await answer("DELETE", path).status == 503)
    }

    @Test(
        "What a foreign web page can have asked for is refused, and deletes nothing",
        arguments: [
            WebAccess.Request(hosts: ["evil.example:8080"], origin: "http://evil.example:8080"),
            WebAccess.Request(hosts: ["evil.example:8080"]),
            WebAccess.Request(hosts: ["localhost:8080"], origin: "http://evil.example"),
            WebAccess.Request(hosts: ["localhost:8080"], site: "cross-site"),
        ])
    func webPages(web: WebAccess.Request) async throws {
        let id = DatabaseID(project: "a")
        let session = Session(DatabaseNames(id), try await databases.database(id))
        _ = try await session.commit([
            Mutation(.set(try Record([:])), at: try DocumentPath("c/d"))
        ])
        for (method, path) in [
            ("DELETE", "/emulator/v1/projects/a/databases/(default)/documents"), ("GET", "/health"),
            ("GET", "/"), ("OPTIONS", "/"),
        ] {
            let response = await answer(
                method, path, token: "t", authorization: "Bearer t", web: web)
            #expect(response.status == 403)
        }
        #expect(try session.backend.documentCount() == 1)
    }

    @Test("With a token a delete needs it")
    func token() async {
        let path = "/emulator/v1/projects/a/databases/d/documents"
        #expect(await answer("DELETE", path, token: "secret").status == 401)
        let right = await answer(
            "DELETE", path, token: "secret", authorization: "Bearer secret")
        #expect(right.status == 200)
    }
}
