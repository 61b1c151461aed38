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
        _ method: String, _ path: String, isAuthorized: Bool = true
    ) async -> HTTPResponse {
        let admin = AdminAPI(databases: databases, streams: StreamCount(limit: 1))
        return await admin.response(
            to: HTTPRequest(method: method, target: path), isAuthorized: isAuthorized)
    }

    @Test("GET / and GET /health report the server")
    func health() async {
        #expect(await answer("GET", "/").text == "Ok\n")
        #expect(await answer("GET", "/?x=y").status == 200)
        let health = await answer("GET", "/health")
        #expect(health.text == #"{"status":"ok","databases":0,"streams":0}"# + "\n")
    }

    @Test("GET /health shows no numbers without the token")
    func healthOfStrangers() async {
        let health = await answer("GET", "/health", isAuthorized: false)
        #expect(health.status == 200 && health.text == #"{"status":"ok"}"# + "\n")
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

    @Test("DELETE requires the bearer token, if one is configured")
    func token() async {
        let path = "/emulator/v1/projects/a/databases/d/documents"
        #expect(await answer("DELETE", path, isAuthorized: false).status == 401)
        #expect(databases.count == 0)
        #expect(await answer("DELETE", path).status == 200)
    }
}
