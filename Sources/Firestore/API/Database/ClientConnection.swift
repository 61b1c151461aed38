import Dispatch
import LarderApp
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import Logging
import Synchronization

/// A database's client, opened on first use.
final class ClientConnection: Sendable {
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
    let deliveries = WaitingDeliveries()

    init(_ configuration: FirestoreConfiguration) {
        state = Mutex(State(configuration: configuration))
        queue = Mutex(configuration.callbackQueue ?? .main)
    }

    /// The client; opens it on first use, which blocks on disk I/O.
    ///
    /// If opening fails, the next call tries again.
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
            state.configuration.noteOpening()
            return client
        }
    }

    /// The client if it is open.
    ///
    /// On the path of every read: one atomic load, no lock.
    var existingClient: Client? {
        isOpened.load(ordering: .acquiring) ? openedClient : nil
    }

    var callbackQueue: DispatchQueue { queue.withLock { $0 } }

    var configuration: FirestoreConfiguration { state.withLock { $0.configuration } }

    var isTerminated: Bool { state.withLock { $0.isTerminated } }

    /// Changes the configuration unless the client has been opened or terminated.
    ///
    /// - Returns: false if it was too late for a change.
    func configure(_ change: (inout FirestoreConfiguration) -> Void) -> Bool {
        state.withLock { state in
            guard !state.isStarted, !state.isTerminated else { return false }
            change(&state.configuration)
            if let queue = state.configuration.callbackQueue { self.queue.withLock { $0 = queue } }
            return true
        }
    }

    /// Terminates the client and prevents opening another.
    func terminate(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        state.withLock { $0.isTerminated = true }
        if let client = existingClient {
            client.terminate(completion)
        } else {
            completion(.success(()))
        }
    }

    /// Deletes the stored data; fails while a client is open.
    func clearPersistence() throws(LarderError) {
        try state.withLock { (state) throws(LarderError) in
            guard !state.isStarted || state.isTerminated else {
                throw LarderError(
                    .failedPrecondition,
                    "clearPersistence needs a database that is not in use: call it before "
                        + "the first use or after terminate.")
            }
            var configuration = state.configuration
            configuration.connector = nil
            try Client.clearPersistence(configuration.client)
        }
    }

    static let terminated = LarderError(
        .failedPrecondition, "The client has already been terminated.")
}

extension FirestoreConfiguration {
    /// Logs what the application of a shared database may have overlooked.
    fileprivate func noteOpening() {
        guard isShared, !isLocal else { return }
        logger.note(
            OpeningNote.Circumstances(
                project: project, hasBackend: hasBackend, namesHost: host != nil,
                emulatorVariable: "FIRESTORE_EMULATOR_HOST"))
    }
}

// MARK: - Client

extension Firestore {
    /// Runs blocking work for callers that must not block.
    static let blockingQueue = DispatchQueue(
        label: "larder.blocking", qos: .userInitiated, attributes: .concurrent)

    /// Calls a closure with the client, or completes with the error of opening it.
    func withClient<Value>(
        _ done: @escaping Completion<Value>, _ body: (Client, @escaping Completion<Value>) -> Void
    ) {
        do throws(LarderError) {
            body(try connection.client(), done)
        } catch {
            done(.failure(error))
        }
    }

    /// A completion that calls a handler on the callback queue; without a handler, it logs the error
    /// of the named call.
    func completion(
        of call: String, _ handler: (((any Error)?) -> Void)?
    ) -> Completion<Void> {
        handler.map { callbackQueue.completion($0) } ?? loggingErrors(of: call)
    }

    /// A completion that logs the error of the named call.
    func loggingErrors(of call: String) -> Completion<Void> {
        let logger = logger
        return { result in
            if case .failure(let error) = result { logger.error("\(call): \(error.message)") }
        }
    }

    /// True if reads of a source are answered by the store: on request, or because the database is
    /// local, whose store has everything.
    func readsStore(_ source: FirestoreSource) -> Bool { source == .cache || isLocal }

    /// True if the database is local; false if it cannot be opened.
    var isLocal: Bool { (try? connection.client().isLocal) ?? false }

    /// Reads once this instance's earlier writes to a place are committed: on the calling thread,
    /// or on a thread of the client if some are still in progress.
    func read<Value>(
        _ source: Result<LarderQuery.Query.Source, LarderError>? = nil,
        _ done: @escaping Completion<Value>,
        _ body: @escaping @Sendable (Client) throws(LarderError) -> Value
    ) {
        withClient(done) { client, done in
            client.afterEarlierWrites(touching: try? source?.get()) {
                done(Result { () throws(LarderError) in try body(client) })
            }
        }
    }

    /// Reads on the calling thread once this instance's earlier writes to a place are committed.
    nonisolated(nonsending) func read<Value>(
        _ source: Result<LarderQuery.Query.Source, LarderError>? = nil,
        _ body: (Client) throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let client = try connection.client()
        await client.earlierWritesCommitted(touching: try? source?.get())
        return try body(client)
    }
}

// MARK: - Store

extension Logger {
    /// The logger of the shared databases, at debug level or that of `FirebaseConfiguration`.
    static var shared: Logger {
        var logger = Logger(label: "larder")
        logger.logLevel =
            isVerbose.load(ordering: .relaxed) ? .debug : FirebaseConfiguration.shared.logLevel
        return logger
    }

    private static let isVerbose = Atomic<Bool>(false)

    static func setVerbose(_ isVerbose: Bool) {
        self.isVerbose.store(isVerbose, ordering: .relaxed)
    }

    var storeLog: @Sendable (StoreConfiguration.LogLevel, String) -> Void {
        { level, message in
            log(level: Level(level), "\(message)")
        }
    }

    /// The most detailed level that the store needs to report.
    var storeLogLevel: StoreConfiguration.LogLevel {
        switch logLevel {
        case .trace, .debug: .debug
        case .info, .notice: .info
        case .warning: .warning
        case .error, .critical: .error
        }
    }
}

extension Logger.Level {
    fileprivate init(_ level: StoreConfiguration.LogLevel) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        case .info: self = .info
        case .debug: self = .debug
        }
    }
}
