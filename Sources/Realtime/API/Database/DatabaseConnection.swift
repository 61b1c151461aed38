import Dispatch
import LarderApp
import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Logging
import Synchronization

/// A database's client, opened on first use.
final class DatabaseConnection: Sendable {
    private struct State {
        var configuration: DatabaseConfiguration
        var isStarted = false
        var isClosed = false
    }

    private let state: Mutex<State>
    private let isOpened = Atomic<Bool>(false)
    // Set once, under the lock, before `isOpened` is; read only after that.
    private nonisolated(unsafe) var openedClient: DatabaseClient?
    private let callbackQueue: Mutex<CallbackQueue>

    init(_ configuration: DatabaseConfiguration) {
        state = Mutex(State(configuration: configuration))
        callbackQueue = Mutex(CallbackQueue(configuration))
    }

    /// The client; opens it on first use, which blocks on disk I/O.
    ///
    /// If opening fails, the next call tries again.
    func client() throws(LarderError) -> DatabaseClient {
        if let client = existingClient {
            if client.isTerminated { throw Self.closed }
            return client
        }
        return try state.withLock { (state) throws(LarderError) in
            if let client = existingClient { return client }
            guard !state.isClosed else { throw Self.closed }
            _ = try state.configuration.location.get()
            let client = try DatabaseClient(state.configuration.client)
            state.isStarted = true
            openedClient = client
            isOpened.store(true, ordering: .releasing)
            state.configuration.noteOpening()
            return client
        }
    }

    /// The client if it is open.
    var existingClient: DatabaseClient? {
        isOpened.load(ordering: .acquiring) ? openedClient : nil
    }

    /// The queue that callbacks run on.
    var callbacks: CallbackQueue { callbackQueue.withLock { $0 } }

    var configuration: DatabaseConfiguration { state.withLock { $0.configuration } }

    /// The address; that of the project's default database for an invalid URL.
    var location: DatabaseLocation {
        let configuration = configuration
        return (try? configuration.location.get())
            ?? DatabaseLocation(project: configuration.project)
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Changes the configuration unless the client has been opened or closed.
    ///
    /// - Returns: false if it was too late for a change.
    func configure(_ change: (inout DatabaseConfiguration) -> Void) -> Bool {
        state.withLock { state in
            guard !state.isStarted, !state.isClosed else { return false }
            change(&state.configuration)
            callbackQueue.withLock { $0 = CallbackQueue(state.configuration) }
            return true
        }
    }

    /// Closes the client and prevents opening another.
    func close(_ completion: @escaping Completion<Void>) {
        state.withLock { $0.isClosed = true }
        if let client = existingClient {
            client.terminate(completion)
        } else {
            completion(.success(()))
        }
    }

    static let closed = LarderError(
        realtime: .failedPrecondition, "The database has been closed.")
}

extension CallbackQueue {
    fileprivate convenience init(_ configuration: DatabaseConfiguration) {
        if let runner = configuration.callbackRunner {
            self.init(runner)
        } else {
            self.init(configuration.callbackQueue ?? .main)
        }
    }
}

extension DatabaseConfiguration {
    /// Logs what the application of a shared database may have overlooked.
    fileprivate func noteOpening() {
        guard isShared, !isLocal else { return }
        logger.note(
            OpeningNote.Circumstances(
                project: project, hasBackend: hasBackend, namesHost: emulator != nil || url != nil,
                emulatorVariable: "FIREBASE_DATABASE_EMULATOR_HOST"))
    }
}

// MARK: - Answers

extension Database {
    /// Calls a closure with the client, or completes with the error of opening it.
    func withClient<Value>(
        _ done: @escaping Completion<Value>,
        _ body: (DatabaseClient, @escaping Completion<Value>) -> Void
    ) {
        do throws(LarderError) {
            body(try connection.client(), done)
        } catch {
            done(.failure(error))
        }
    }

    /// Suspends until the client has answered.
    nonisolated(nonsending) func ask<Value: Sendable>(
        _ body: (DatabaseClient, @escaping Completion<Value>) -> Void
    ) async throws(DatabaseError) -> Value {
        do throws(LarderError) {
            return try await answer { done in withClient(done, body) }
        } catch {
            throw DatabaseError(error)
        }
    }
}

// MARK: - Logging

extension Logger {
    /// The logger of the shared databases, at debug level or that of `FirebaseConfiguration`.
    static var realtimeShared: Logger {
        var logger = Logger(label: "larder.realtime")
        logger.logLevel =
            isVerbose.load(ordering: .relaxed) ? .debug : FirebaseConfiguration.shared.logLevel
        return logger
    }

    private static let isVerbose = Atomic<Bool>(false)

    static func setRealtimeVerbose(_ isVerbose: Bool) {
        self.isVerbose.store(isVerbose, ordering: .relaxed)
    }
}
