import LarderDocumentStore
import LarderModel
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

/// The end is asked for first, and served together with what is asked for next.
@Suite("Clients that have ended")
struct EndedClientTests {
    private let world: SharingWorld
    private let client: SharingClient

    init() throws {
        world = try SharingWorld()
        client = try world.open("a")
        world.settle()
    }

    /// Why something fails that is asked for after the end; nil when it does not.
    private func failure<Value>(
        _ body: (Client, @escaping @Sendable (Result<Value, LarderError>) -> Void) -> Void
    ) -> LarderError? {
        let failure = Mutex<LarderError?>(nil)
        client.client.terminate { _ in }
        body(client.client) { result in
            if case .failure(let error) = result { failure.withLock { $0 = error } }
        }
        client.scheduler.drain()
        return failure.withLock { $0 }
    }

    @Test("The user does not change")
    func user() {
        let error = failure { $0.setUser(UserID("alice"), completion: $1) }
        #expect(error?.kind == .failedPrecondition)
        #expect(client.client.user == .unauthenticated)
    }

    @Test("Nothing is written")
    func writes() throws {
        let mutation = try Mutation.set("c/x", 1)
        let error: LarderError? = failure {
            $0.write([mutation], committed: $1, acknowledged: { _ in })
        }
        #expect(error?.kind == .failedPrecondition)
        #expect(try pendingCount == 0)
    }

    @Test("No dead letter is tried again")
    func deadLetters() throws {
        let outcome = client.write([try .set("c/x", 1)])
        client.client.disableNetwork { _ in }
        client.scheduler.drain()
        let id = try #require(outcome.id)
        _ = try local.reject([id], because: LarderError(.permissionDenied, "no"), at: .epoch)
        let error: LarderError? = failure {
            $0.retryDeadLetter(id, committed: $1, acknowledged: { _ in })
        }
        #expect(error?.kind == .failedPrecondition)
        #expect(try pendingCount == 0)
    }

    @Test("Waiting for pending writes fails when the client is terminated")
    func waiting() throws {
        client.client.disableNetwork { _ in }
        client.write([try .set("c/x", 1)])
        client.scheduler.drain()
        let error = failure { $0.waitForPendingWrites($1) }
        #expect(error?.kind == .failedPrecondition)
        #expect(try pendingCount == 1)
    }

    private var local: LocalStore {
        LocalStore(
            store: world.store, user: .unauthenticated, databaseID: DatabaseID(project: "test"))
    }

    private var pendingCount: Int { get throws { try local.pendingBatches().count } }
}
