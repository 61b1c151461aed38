import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync

/// A client of a store in a directory, with a scripted backend.
final class MeasuredClient {
    static let databaseID = DatabaseID(project: "bench")

    let store: Store
    let client: Client
    let backend = ScriptedBackend()
    /// The number of delivered snapshots.
    let told = Counter()

    init(directory: String, scheduler: (any Scheduler<EngineTimer>)? = nil) throws(LarderError) {
        store = try Store(Self.storage(directory))
        var configuration = Self.configuration(directory)
        configuration.remote = backend
        if let scheduler { configuration.scheduler = scheduler }
        client = try Client(configuration, store: store)
    }

    static func storage(_ directory: String) -> StoreConfiguration {
        var storage = StoreConfiguration(directory: directory)
        storage.durability = .lastCommitAtRisk
        return storage
    }

    static func configuration(_ directory: String) -> ClientConfiguration {
        ClientConfiguration(storage: storage(directory), databaseID: databaseID)
    }

    /// The cached documents of a query, at least one.
    ///
    /// - Throws: `failedPrecondition` for an empty result: a listener would wait for it indefinitely.
    func cached(_ query: Query) throws(LarderError) -> [Document] {
        let documents = try client.run(query).documents
        guard !documents.isEmpty else {
            throw LarderError(
                .failedPrecondition,
                "the store has no document of \(query.target.canonicalID); ClientBenchmarks "
                    + "prepares it")
        }
        return documents
    }

    /// Listens to a query; errors terminate the program.
    func listen(to query: Query) -> ClientRegistration {
        client.listen(to: query, options: ListenOptions()) { [told] result in
            if case .failure(let error) = result { fatalError("a listener failed: \(error)") }
            told.add()
        }
    }

    /// Listens to queries whose documents the backend has already sent.
    ///
    /// - Parameter documents: the cached documents of each query.
    func listen(to queries: [Query], with documents: [[Document]]) -> [ClientRegistration] {
        let (asked, heard) = (backend.asked.count, told.count)
        let registrations = queries.map { listen(to: $0) }
        backend.asked.wait(for: asked + queries.count)
        told.wait(for: heard + documents.count { !$0.isEmpty })
        let ids = queries.compactMap { backend.targetID($0.target) }
        var responses: [WatchResponse] = []
        for (id, documents) in zip(ids, documents) {
            responses += documents.compactMap { document in
                document.reading.map { .document($0, targetIDs: [id], removedTargetIDs: []) }
            }
        }
        let version = backend.newVersion()
        backend.say(
            responses + [
                ScriptedBackend.current(ids, version), ScriptedBackend.snapshot(version),
            ])
        settle()
        return registrations
    }

    /// Blocks until the engine is idle.
    func settle() { _ = state }

    var state: EngineState? { blocking { client.inspect($0) } }

    func close() throws(LarderError) {
        _ = blocking { client.terminate($0) }
        try store.close()
    }
}

extension Document {
    /// The backend's reading of the document; nil if it does not exist.
    var reading: DocumentReading? {
        record.map {
            DocumentReading(
                path: path, contents: .found($0, createTime: createTime), version: version)
        }
    }
}
