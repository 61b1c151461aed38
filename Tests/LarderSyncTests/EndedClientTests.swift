import LarderModel
import LarderStorage
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
}
