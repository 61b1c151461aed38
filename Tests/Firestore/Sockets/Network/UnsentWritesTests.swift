import Dispatch
import Larder
import LarderGRPC
import LarderTestSupport
import Logging
import Synchronization
import Testing

@Suite("An application that only writes", .timeLimit(.minutes(10)))
struct UnsentWritesTests {
    @Test("a wrong token is reported by the network state, the write and one line in the log")
    func wrongToken() async throws {
        let server = try await WireServer.started()
        let isRight = Mutex(false)
        let right = server.token
        let cloud = try server.connection(project: "p") {
            $0.credentials = .provider { _, _ in
                AccessToken(isRight.withLock { $0 } ? right : "wrong")
            }
        }
        let lines = Awaited<[String]>([])
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "p"
        configuration.backend = cloud.connection
        configuration.callbackQueue = DispatchQueue(label: "client")
        configuration.logger = Logger(label: "test") { _ in
            ClosureLog(.warning) { event in
                let line = "\(event.message)"
                lines.change { $0.append(line) }
            }
        }
        let db = try Firestore(configuration: configuration)
        let write = db.document("c/x").enqueueSetData(["n": 1])
        for try await writes in db.pendingWriteUpdates {
            guard let pending = writes.first, pending.attemptCount > 1 else { continue }
            #expect(pending.lastError?.isEmpty == false)
            break
        }
        let state = db.networkState
        #expect(state.status == .offline)
        guard case .failed(let error) = state.reason, error.kind == .unauthenticated else {
            Issue.record("\(state)")
            return
        }
        #expect(lines.value.count == 1, "\(lines.value)")
        isRight.withLock { $0 = true }
        db.reconnect()
        try await write.acknowledged()
        #expect(db.networkState.status == .online)
        try await db.terminate()
        await cloud.close()
        try await server.stop()
    }
}
