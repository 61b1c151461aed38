import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Documents that are evicted while a listener's first query runs")
struct EvictedWhileLoadingTests {
    @Test("A document evicted between the query and its first snapshot is not in the snapshot")
    func evictedAfterTheQuery() throws {
        let store = try Store(.inMemory())
        try store.write { transaction throws in
            try transaction.put(
                Record(["n": 1]), at: DocumentPath("c/a"), version: .at(1))
        }
        let scheduler = ManualScheduler()
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: DatabaseID(project: "test"))
        configuration.scheduler = scheduler
        let client = try Client(configuration, store: store)
        let shown = Mutex<[[String]]>([])
        let registration = client.listen(
            to: Query(.collection(try CollectionPath("c"))), options: ListenOptions()
        ) { result in
            let ids = (try? result.get())?.documents.map(\.path.id) ?? ["an error"]
            shown.withLock { $0.append(ids) }
        }
        // Served in the same turn as the listener, so that the collection comes after the query
        // and before its result.
        client.inspect { [client] _ in client.collectGarbage(threshold: 0) { _ in } }
        scheduler.drain()
        #expect(try store.statistics().documentCount == 0, "the collection ran")
        #expect(shown.withLock { $0 } == [[]])
        registration.remove()
        client.terminate { _ in }
        scheduler.drain()
    }
}
