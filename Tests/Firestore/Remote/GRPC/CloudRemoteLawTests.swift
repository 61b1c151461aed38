import Foundation
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The laws of a remote: a backend over sockets")
struct CloudRemoteLawTests {
    // Those of other calls are tried on the server itself, with the tests of sockets.
    @Test("each law", .timeLimit(.minutes(10)), arguments: RemoteLaw.ofEngineCalls)
    func each(law: RemoteLaw) async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        try await law.check(cloud.connection.remote, DatabaseID(project: TestServer.project))
        await cloud.close()
        try await server.close()
    }

    @Test("all laws at once, over one connection", .timeLimit(.minutes(10)))
    func together() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for law in RemoteLaw.ofEngineCalls {
                group.addTask {
                    try await law.check(
                        cloud.connection.remote, DatabaseID(project: TestServer.project))
                }
            }
            try await group.waitForAll()
        }
        await cloud.close()
        try await server.close()
    }

    @Test(
        "each law, at the server that LARDER_REMOTE_HOST names",
        .enabled(
            if: outsideHost != nil, "LARDER_REMOTE_HOST names no server, such as localhost:8080"),
        .timeLimit(.minutes(10)), arguments: RemoteLaw.allCases)
    func outside(law: RemoteLaw) async throws {
        // A project of its own is empty before.
        let project = "law-\(UInt32.random(in: 0 ... .max))"
        let cloud = try CloudFirestore(
            CloudFirestoreConfiguration(
                project: project, environment: ["FIRESTORE_EMULATOR_HOST": outsideHost ?? ""]))
        try await law.check(cloud.connection.remote, DatabaseID(project: project))
        await cloud.close()
    }
}

/// A server that runs already, such as Google's emulator; nil for none.
private let outsideHost = ProcessInfo.processInfo.environment["LARDER_REMOTE_HOST"]
