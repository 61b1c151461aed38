import Dispatch
import Foundation
import Larder
import LarderBackend
import LarderModel
import LarderRemote
import LarderTestSupport
import Synchronization

/// A database in memory.
func memoryDatabase() throws -> Firestore {
    try Firestore(configuration: .inMemory)
}

/// A database in a directory.
func diskDatabase(_ directory: TemporaryDirectory) throws -> Firestore {
    try Firestore(configuration: FirestoreConfiguration(directory: directory.file("store")))
}

/// What closures were called with, in order, for tests to wait for.
final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Mutex(State())

    func record(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            let ready = state.waiting.filter { $0.count <= state.elements.count }
            state.waiting.removeAll { $0.count <= state.elements.count }
            return ready.map { ($0.continuation, state.elements) }
        }
        for (continuation, elements) in ready { continuation.resume(returning: elements) }
    }

    /// What has come so far.
    var elements: [Element] { state.withLock { $0.elements } }

    /// Suspends until so many have come.
    func first(_ count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let elements = state.withLock { state -> [Element]? in
                if state.elements.count >= count { return state.elements }
                state.waiting.append((count, continuation))
                return nil
            }
            if let elements { continuation.resume(returning: elements) }
        }
    }
}

/// The code of the error that a closure throws; nil for none.
func code(_ body: () async throws -> Void) async -> LarderError.Code? {
    do {
        try await body()
        return nil
    } catch let error as NSError {
        return LarderError.Code(rawValue: error.code)
    }
}

extension Firestore {
    /// Lets everything that is on the callback queue be called.
    func drainCallbacks() async {
        let queue = settings.dispatchQueue
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }
}

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
