import LarderBackend
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire
import Testing

@testable import LarderServer

@Suite("Admin endpoints")
struct AdminAPITests {
    private let databases = Databases(.memory, limit: 2)

    private func answer(
        _ method: String, _ path: String, token: String? = nil, authorization: String? = nil,
        web: WebAccess.Request = .init()
    ) async -> HTTP1Handler.Response {
        let admin = AdminAPI(
            databases: databases, streams: StreamCount(limit: 1), token: BearerToken(token),
            access: ServerConfiguration(storage: .memory).webAccess)
        return await admin.respond(
            to: .init(method: method, path: path, authorization: authorization, web: web))
    }

    @Test("GET / and GET /health report the server")
    func health() async {
        #expect(await answer("GET", "/").body == "Ok\n")
        #expect(await answer("GET", "/?x=y").status == 200)
        let health = await answer("GET", "/health")
        #expect(health.body == #"{"status":"ok","databases":0,"streams":0}"# + "\n")
    }

    @Test(
        "an unknown endpoint is 404 and opens no database",
        arguments: [
            ("GET", "/nothing"), ("DELETE", "/emulator/v1/projects/p/databases/d"),
            ("GET", "/emulator/v1/projects/p/databases/d/documents"), ("OPTIONS", "/x"),
        ])
    func missing(method: String, path: String) async {
        #expect(await answer(method, path).status == 404)
        #expect(databases.count == 0)
    }

    @Test(
        "a path of no database is 400 and opens none",
        arguments: [
            "projects//databases/d", "projects/p/databases/", "projects/p%2f/databases/d",
            "projects/p/databases/d/documents/c", "projects/p/databases/%", "x", "projects/p",
        ])
    func malformed(name: String) async {
        let status = await answer("DELETE", "/emulator/v1/\(name)/documents").status
        #expect(status == 400)
        #expect(databases.count == 0)
    }

    @Test("DELETE removes all documents of one database only")
    func deletes() async throws {
        let ids = ["a", "b"].map { DatabaseID(project: $0) }
        for id in ids {
            let database = DatabaseContext(DatabaseNames(id), try await databases.database(id))
            let mutations = try (0..<5).map {
                Mutation(.set(try Record([:])), at: try DocumentPath("c/\($0)"))
            }
            _ = try await database.commit(mutations)
        }
        let path = "/emulator/v1/projects/a/databases/%28default%29/documents"
        #expect(await answer("DELETE", path).status == 200)
        #expect(try await databases.database(ids[0]).documentCount() == 0)
        #expect(try await databases.database(ids[1]).documentCount() == 5)
        #expect(await databases.close().isEmpty)
        #expect(await answer("DELETE", path).status == 503)
    }

    @Test(
        "requests of foreign web pages are 403 and delete nothing",
        arguments: [
            WebAccess.Request(hosts: ["evil.example:8080"], origin: "http://evil.example:8080"),
            WebAccess.Request(hosts: ["evil.example:8080"]),
            WebAccess.Request(hosts: ["localhost:8080"], origin: "http://evil.example"),
            WebAccess.Request(hosts: ["localhost:8080"], site: "cross-site"),
        ])
    func webPages(web: WebAccess.Request) async throws {
        let id = DatabaseID(project: "a")
        let database = DatabaseContext(DatabaseNames(id), try await databases.database(id))
        _ = try await database.commit([
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
        #expect(try database.backend.documentCount() == 1)
    }

    @Test("DELETE requires the bearer token, if one is configured")
    func token() async {
        let path = "/emulator/v1/projects/a/databases/d/documents"
        #expect(await answer("DELETE", path, token: "secret").status == 401)
        let right = await answer(
            "DELETE", path, token: "secret", authorization: "Bearer secret")
        #expect(right.status == 200)
    }
}
