import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Clients that follow the process that writes")
struct FollowingTests {
    /// Lets a test act between a read and what is made of it.
    private final class ReadingScheduler: Scheduler {
        private struct State {
            var noticeWrite: @Sendable () -> Void = {}
            var afterRead: @Sendable () -> Void = {}
        }

        private final class Token: Sendable {}

        let manual = ManualScheduler()
        private let state = Mutex(State())

        var executor: any SerialExecutor { manual.executor }
        var uptime: Duration { manual.uptime }

        func random() -> Double { manual.random() }

        func run(_ body: @escaping @Sendable () -> Void) { manual.run(body) }

        func schedule(
            _ timer: EngineTimer, after delay: Duration, _ body: @escaping @Sendable () -> Void
        ) -> @Sendable () -> Void {
            manual.schedule(timer, after: delay, body)
        }

        func read(_ body: @escaping @Sendable () -> Void) {
            manual.run { [self] in
                body()
                let afterRead = state.withLock { state in
                    defer { state.afterRead = {} }
                    return state.afterRead
                }
                afterRead()
            }
        }

        func watch(_ path: String, _ body: @escaping @Sendable () -> Void) -> AnyObject {
            state.withLock { $0.noticeWrite = body }
            return Token()
        }

        /// Says that the file was written to.
        func noticeWrite() { state.withLock { $0.noticeWrite }() }

        /// Does something once, right after the next read.
        func afterRead(_ body: @escaping @Sendable () -> Void) {
            state.withLock { $0.afterRead = body }
        }
    }

    @Test("A document that goes while a query is run for the first time is not shown")
    func loading() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory: directory.file("store"))
        let local = LocalStoreFixture.local(store, "")
        let put: @Sendable (MapValue?, Int64) throws -> Void = { fields, seconds in
            let version = SnapshotVersion(seconds: seconds)
            let reading = DocumentReading(
                path: try DocumentPath("c/x"),
                contents: try fields.map { .found(try Record($0), createTime: nil) } ?? .absent,
                version: version)
            _ = try local.applyRemoteDocuments([reading], readTime: version)
        }
        try put(["n": 1], 1)

        let scheduler = ReadingScheduler()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.access = .readOnly
        var configuration = ClientConfiguration(storage: storage, databaseID: local.databaseID)
        configuration.scheduler = scheduler
        let client = try Client(configuration, store: store)
        scheduler.manual.drain()
        let heard = Mutex<[String]?>(nil)
        scheduler.afterRead {
            try? put(nil, 2)
            scheduler.noticeWrite()
        }
        let registration = client.listen(to: try .all("c"), options: ListenOptions()) { result in
            heard.withLock { $0 = (try? result.get())?.documents.map(\.id) }
        }
        scheduler.manual.drain()
        #expect(heard.withLock { $0 } == [])
        registration.remove()
        client.terminate { _ in }
        scheduler.manual.drain()
        scheduler.manual.retire()
        try store.close()
    }
}
