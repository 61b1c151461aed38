import Foundation
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("A provider of tokens that fails", .timeLimit(.minutes(10)))
struct ProviderFailureTests {
    @Test("leaves the tokens of others")
    func failingProvider() async throws {
        let server = try await TestServer.started()
        let asked = Awaited<[String]>([])
        let cloud = try server.client {
            $0.credentials = .provider { userID, isForced in
                asked.change { $0.append("\(userID ?? "-")\(isForced ? "!" : "")") }
                guard userID != "a" else { throw CocoaError(.fileNoSuchFile) }
                return AccessToken("token", lifetime: .seconds(3600))
            }
        }
        for (userID, isGood) in [("b", true), ("a", false), ("b", true)] {
            let result = await commit(cloud, as: Credentials(userID: userID))
            #expect((result.failure == nil) == isGood)
        }
        #expect(asked.value == ["b", "a"])
        await cloud.close()
        try await server.close()
    }

    @Test(
        "an unresponsive provider fails waiting calls, and does not prevent the connection from closing"
    )
    func silentProvider() async throws {
        let server = try await TestServer.started()
        let asked = Awaited(0)
        let cloud = try server.client {
            $0.connectTimeout = .milliseconds(50)
            $0.credentials = .provider { _, _ in
                asked.change { $0 += 1 }
                try await Task.sleep(for: .seconds(3600))
                return AccessToken("late")
            }
        }
        // On a busy machine the time may be over before it was asked.
        repeat {
            let error = await commit(cloud, as: Credentials()).failure
            #expect(error?.kind == .unavailable && error?.message.contains("provider") == true)
        } while asked.value == 0
        await cloud.shutDownGracefully()
        let late = await commit(cloud, as: Credentials())
        #expect(late.failure?.kind == .unavailable)
        #expect(asked.value == 1)
        try await server.close()
    }

    private func commit(_ cloud: CloudFirestore, as credentials: Credentials) async
        -> Result<CommitResponse, LarderError>
    {
        await withCheckedContinuation { continuation in
            cloud.connection.remote.commit([], as: credentials) {
                continuation.resume(returning: $0)
            }
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
