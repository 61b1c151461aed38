import Dispatch
import Larder
import LarderBackend
import LarderModel
import LarderRemote
import LarderTestSupport

/// A backend in memory, behind a network that a test can make fail.
struct World {
    let backend: Backend
    let network: UnreliableRemote
    private let project: String

    init(
        project: String = "test", database: String = "(default)",
        rules: @escaping Backend.Rules = { _ in .allow }
    ) throws {
        self.project = project
        var configuration = BackendConfiguration(project: project)
        configuration.database = database
        configuration.rules = rules
        backend = try Backend(configuration)
        network = UnreliableRemote(backend.connection)
    }

    /// A database that is kept in agreement with the backend, in memory unless said otherwise.
    func database(
        _ configuration: FirestoreConfiguration = .inMemory,
        wait: FirestoreConfiguration.ServerWait = .likeFirebase
    ) throws -> Firestore {
        var configuration = configuration
        configuration.project = project
        configuration.backend = network.connection
        configuration.serverWait = wait
        return try Firestore(configuration: configuration)
    }

    /// Makes changes at the backend as another client does.
    @discardableResult
    func commit(_ mutations: [Mutation]) async throws -> SnapshotVersion {
        let result = await withCheckedContinuation { continuation in
            backend.commit(mutations, as: Credentials()) { continuation.resume(returning: $0) }
        }
        return try result.get().commitVersion
    }

    /// Makes a document as another client does.
    @discardableResult
    func set(_ path: String, _ fields: MapValue) async throws -> SnapshotVersion {
        try await commit([Mutation(.set(try Record(fields)), at: try DocumentPath(path))])
    }

    /// Makes a document as another client does; blocks.
    func interfere(_ path: String, _ fields: MapValue) throws {
        let mutation = Mutation(.set(try Record(fields)), at: try DocumentPath(path))
        let done = DispatchSemaphore(value: 0)
        backend.commit([mutation], as: Credentials()) { _ in done.signal() }
        done.wait()
    }

    /// The fields of a document at the backend; nil for none.
    func fields(_ path: String) throws -> MapValue? {
        try backend.document(at: try DocumentPath(path))?.fields
    }
}

extension Firestore {
    /// Suspends until the state of the network is such.
    @discardableResult
    func networkState(_ condition: (NetworkState) -> Bool) async throws -> NetworkState {
        for try await state in networkStates where condition(state) { return state }
        return networkState
    }
}
