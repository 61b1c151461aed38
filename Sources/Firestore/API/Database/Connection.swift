import Dispatch
import LarderModel
import LarderSync
import Logging
import Synchronization

/// A database's client, opened when it is first needed.
final class Connection: Sendable {
    private struct State {
        var configuration: FirestoreConfiguration
        var isStarted = false
        var isTerminated = false
    }

    private let state: Mutex<State>
    private let isOpened = Atomic<Bool>(false)
    // Set once, under the lock, before `isOpened` is; read only after that.
    private nonisolated(unsafe) var openedClient: Client?
    private let queue: Mutex<DispatchQueue>

    init(_ configuration: FirestoreConfiguration) {
        state = Mutex(State(configuration: configuration))
        queue = Mutex(configuration.callbackQueue ?? .main)
    }

    /// The client; opens it when that has not happened, and blocks for the disk then.
    ///
    /// An opening that failed is tried again by the next call.
    func client() throws(LarderError) -> Client {
        if let client = existingClient {
            if client.isTerminated { throw Self.terminated }
            return client
        }
        return try state.withLock { (state) throws(LarderError) in
            if let client = existingClient { return client }
            guard !state.isTerminated else { throw Self.terminated }
            let client = try Client(state.configuration.client)
            state.isStarted = true
            openedClient = client
            isOpened.store(true, ordering: .releasing)
            return client
        }
    }

    /// The client if it was opened.
    ///
    /// Every read asks for it: one load, no lock.
    var existingClient: Client? {
        isOpened.load(ordering: .acquiring) ? openedClient : nil
    }

    /// Where callbacks are called.
    var callbackQueue: DispatchQueue { queue.withLock { $0 } }

    /// How the client is opened, or was.
    var configuration: FirestoreConfiguration { state.withLock { $0.configuration } }

    /// Whether ``terminate(_:)`` was called.
    var isTerminated: Bool { state.withLock { $0.isTerminated } }

    /// Changes how the client will be opened.
    ///
    /// - Returns: whether it was in time: nothing changes after the first use.
    func configure(_ change: (inout FirestoreConfiguration) -> Void) -> Bool {
        state.withLock { state in
            guard !state.isStarted, !state.isTerminated else { return false }
            change(&state.configuration)
            if let queue = state.configuration.callbackQueue { self.queue.withLock { $0 = queue } }
            return true
        }
    }

    /// Ends the client; no other is opened afterwards.
    func terminate(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        state.withLock { $0.isTerminated = true }
        if let client = existingClient {
            client.terminate(completion)
        } else {
            completion(.success(()))
        }
    }

    /// Removes what is stored, unless a client is open on it.
    func clearPersistence() throws(LarderError) {
        try state.withLock { (state) throws(LarderError) in
            guard !state.isStarted || state.isTerminated else {
                throw LarderError(
                    .failedPrecondition,
                    "clearPersistence is for a database that is not in use: call it before "
                        + "anything else, or after terminate.")
            }
            var configuration = state.configuration
            configuration.connector = nil
            try Client.clearPersistence(configuration.client)
        }
    }

    static let terminated = LarderError(
        .failedPrecondition, "The client has already been terminated.")
}
