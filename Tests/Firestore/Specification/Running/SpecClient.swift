import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization

/// One client of a test: an engine on the test's own thread, with a backend that the test plays.
final class SpecClient {
    let world: SpecWorld
    let log: SpecLog
    private let id: String
    /// Set while the client runs.
    private(set) var client: Client?
    private(set) var scheduler = ManualScheduler()
    private(set) var remote = ScriptedRemote()
    var user = UserID.unauthenticated
    var isNetworkEnabled = true
    /// Whether the client is in the foreground.
    var isForeground = false
    var listeners: [Query: ClientRegistration] = [:]
    var snapshotsInSyncListeners: [ClientRegistration] = []
    /// What steps so far have said of the state, to be looked at after every step.
    var lastingState = LastingState()
    private let failing = FailingTransactions()

    struct LastingState {
        var activeTargets: [Int32: TargetExpectation] = [:]
        var activeLimbo: Set<DocumentPath> = []
        var waitingLimbo: Set<DocumentPath> = []
    }

    /// A client of a world, running; it has a number there.
    init(_ number: Int, in world: SpecWorld) throws {
        self.world = world
        id = "client\(number)"
        log = SpecLog(world.trace)
        try start()
    }

    /// Makes transactions of these names fail.
    var failingTransactions: Set<String> {
        get { failing.names.withLock { $0 } }
        set { failing.names.withLock { $0 = newValue } }
    }

    /// Restarts on the same store, with a new connection.
    func start() throws {
        let trace = world.trace
        scheduler = ManualScheduler(clock: world.clock)
        remote = ScriptedRemote { trace($0) }
        // A disk that was made to fail works for the next process.
        failingTransactions = []
        var configuration = ClientConfiguration(
            storage: world.storage, databaseID: SpecDatabase.id)
        configuration.user = user
        configuration.collectsEagerly = world.collectsEagerly
        configuration.remote = remote
        configuration.scheduler = scheduler
        configuration.maxConcurrentLimboResolutions =
            world.test.configuration.maxConcurrentLimboResolutions ?? .max
        let failing = failing
        configuration.guarding = { (operation) throws(LarderError) in try failing.check(operation) }
        let clock = world.clock
        configuration.clock = { clock.timestamp }
        if world.isShared {
            configuration.sharing = Sharing(
                clientID: id, signal: world.signals, isForeground: isForeground)
        }
        log.begin()
        client = try Client(configuration, store: world.sharedStore())
        scheduler.drain()
    }

    /// Ends the client; its store is closed when this returns.
    func stop() throws {
        guard let client else { return }
        self.client = nil
        listeners = [:]
        snapshotsInSyncListeners = []
        log.end()
        try scheduler.wait { client.terminate($0) }
    }

    /// Whether the client has not ended, by itself or because a step wanted it so.
    var isRunning: Bool { client?.isTerminated == false }

    /// What the engine is at; nil when the client does not run.
    func inspect() -> EngineState? {
        let state = Mutex<EngineState?>(nil)
        client?.inspect { inspected in state.withLock { $0 = inspected } }
        scheduler.drain()
        return state.withLock { $0 }
    }

    /// Opens the watch stream where a backend that does not wait would have.
    func openWatchStream() {
        while !remote.isWatchStreamOpen, scheduler.fire(.watchStreamBackoff) {}
    }
}

/// The transactions of a store that are to fail.
private final class FailingTransactions: Sendable {
    let names = Mutex<Set<String>>([])

    func check(_ operation: LocalOperation) throws(LarderError) {
        guard names.withLock({ $0.contains(operation.rawValue) }) else { return }
        throw LarderError(
            .unavailable, "'\(operation.rawValue)' was made to fail", condition: .io)
    }
}

extension ManualScheduler {
    /// Drains until an operation is complete.
    func wait(
        for operation: (@escaping @Sendable (Result<Void, LarderError>) -> Void) -> Void
    ) throws {
        let result = Mutex<Result<Void, LarderError>?>(nil)
        operation { ended in result.withLock { $0 = ended } }
        drain()
        guard let result = result.withLock({ $0 }) else {
            throw SpecRunError(message: "an operation does not end")
        }
        try result.get()
    }
}

/// Why a step could not be carried out.
struct SpecRunError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
