import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Work that the disk refuses")
struct RefusedWorkTests {
    private let world: SharingWorld
    private let disk = FailingDisk()

    init() throws {
        world = try SharingWorld()
    }

    /// A disk that refuses some operations.
    private final class FailingDisk: Sendable {
        private let state = Mutex((refused: Set<LocalOperation>(), count: 0))

        /// How often it has refused one.
        var count: Int { state.withLock { $0.count } }

        func refuse(_ operations: LocalOperation...) {
            state.withLock { $0.refused = Set(operations) }
        }

        func check(_ operation: LocalOperation) throws(LarderError) {
            let isRefused = state.withLock { state in
                guard state.refused.contains(operation) else { return false }
                state.count += 1
                return true
            }
            if isRefused { throw LarderError(.unavailable, "the disk is full", condition: .io) }
        }
    }

    /// A client on the disk.
    private func open(_ id: String) throws -> SharingClient {
        try world.open(id) { [disk] (operation) throws(LarderError) in try disk.check(operation) }
    }

    @Test("A store that can be read and not written is tried less and less often")
    func backsOff() throws {
        let a = try open("a")
        disk.refuse(.applyRemoteEvent)
        a.listen("all", try .all("c"))
        world.settle()
        #expect(disk.count == 1)
        world.pass(.seconds(60))
        #expect((3...12).contains(disk.count))
        #expect(a["all"].last?.isFromCache != false)

        disk.refuse()
        world.pass(.seconds(60))
        #expect(a["all"].last?.isFromCache == false)
        // What was kept says that the store works: the next failure is a first one.
        disk.refuse(.applyRemoteEvent)
        a.write([try .set("c/x", 1)])
        world.settle()
        disk.refuse()
        world.pass(.milliseconds(500))
        #expect(a["all"].last?.isFromCache == false)
    }

    @Test("A queue that cannot be read is tried less and less often")
    func backsOffFromQueue() throws {
        _ = try world.store.write { (transaction) throws(LarderError) in
            try transaction.appendMutations(
                [1, 2, 3], touching: [], localWriteTime: .epoch, of: .unauthenticated)
        }
        let a = try open("a")
        world.settle()
        for _ in 0..<3 { #expect(a.scheduler.fire(.recovery)) }
        let next = try #require(a.scheduler.timers.first { $0.timer == .recovery })
        #expect(next.time - world.clock.now >= .seconds(1))
    }

    @Test("An acknowledgement does not wait for work that is for other clients alone")
    func overtakes() throws {
        let (a, b) = (try open("a"), try world.open("b"))
        a.listen("all", try .all("c"))
        world.settle()
        #expect(world.primaries == ["a"])
        disk.refuse(.readBatchDocuments)
        b.write([try .set("c/heard", 1)])
        world.settle()
        #expect(disk.count == 1)
        let outcome = a.write([try .set("c/own", 1)])
        world.settle()
        #expect(outcome.isAcknowledged)
        #expect(try a.client.pendingWrites().isEmpty)

        disk.refuse()
        world.pass(.seconds(5))
        #expect(a["all"].documents.count == 2)
    }

    @Test("A change of the user that waits for the disk fails with the end of the client")
    func ends() throws {
        let a = try open("a")
        world.settle()
        disk.refuse(.changeUser)
        let result = Mutex<Result<Void, LarderError>?>(nil)
        a.client.setUser(UserID("alice")) { changed in result.withLock { $0 = changed } }
        world.settle()
        #expect(result.withLock { $0 } == nil)
        world.close(a)
        guard case .failure(let error)? = result.withLock({ $0 }) else {
            Issue.record("the change of the user has not failed")
            return
        }
        #expect(error.kind == .cancelled)
    }

    @Test("A write that the backend has committed is not taken back while that cannot be stored")
    func committed() throws {
        let a = try open("a")
        a.listen("all", try .all("c"))
        world.settle()
        disk.refuse(.acknowledgeBatch)
        let outcome = a.write([try .set("c/x", 1)])
        world.settle()
        #expect(disk.count == 1 && !outcome.isAcknowledged)
        let wasCancelled = Mutex<Bool?>(nil)
        a.client.cancelWrite(try #require(outcome.id)) { result in
            wasCancelled.withLock { $0 = try? result.get() }
        }
        world.settle()
        #expect(wasCancelled.withLock { $0 } == false)

        disk.refuse()
        world.pass(.seconds(5))
        #expect(outcome.isAcknowledged)
        #expect(a["all"].documents.count == 1)
    }

    @Test("Writes whose cancellation cannot be stored stay, and are sent when the disk works")
    func cancellations() throws {
        let a = try open("a")
        a.client.disableNetwork { _ in }
        let outcomes = try (0..<3).map { number in a.write([try .set("c/\(number)", 1)]) }
        world.settle()
        disk.refuse(.rejectBatch)
        let errors = Mutex<[LarderError.Code]>([])
        for outcome in outcomes {
            a.client.cancelWrite(try #require(outcome.id)) { result in
                if case .failure(let error) = result { errors.withLock { $0.append(error.kind) } }
            }
        }
        world.settle()
        #expect(errors.withLock { $0 } == [.unavailable, .unavailable, .unavailable])
        #expect(disk.count == 1)
        #expect(try a.client.pendingWrites().count == 3)

        disk.refuse()
        a.client.enableNetwork { _ in }
        world.pass(.seconds(5))
        let acknowledged = outcomes.count { $0.isAcknowledged }
        #expect(acknowledged == 3)
    }

    @Test("What an older watch stream says asks nothing of the disk")
    func olderStreams() throws {
        let a = try open("a")
        a.listen("all", try .all("c"))
        a.write([try .set("c/x", 1)])
        world.settle()
        a.write([try .set("c/x", 2)])
        a.scheduler.drain()
        // The answers come when the streams have been closed.
        a.client.reconnect()
        world.drainBackend()
        disk.refuse(.readSnapshotVersion)
        a.scheduler.drain()
        #expect(disk.count == 0)

        disk.refuse()
        world.settle()
        #expect(a["all"].last?.hasPendingWrites == false)
        #expect(a["all"].last?.isFromCache == false)
    }
}
