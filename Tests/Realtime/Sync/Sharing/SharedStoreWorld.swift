import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import LarderSharedTestSupport
import LarderStorage

/// Clients of one process that share a store and a clock, each with a scripted server.
final class SharedStoreWorld {
    private(set) var store: Store
    private let storage: StoreConfiguration
    let clock = ManualClock()
    private let signals = SignalHub()
    private let locks = LockTable()
    private var clients: [(engine: EngineUnderTest, locks: LockTable.Client)] = []

    init(_ storage: StoreConfiguration = .inMemory()) throws {
        self.storage = storage
        store = try Store(storage)
    }

    /// Ends all clients, and closes the store while something is done to its files.
    func reopenStore(_ change: () throws -> Void) throws {
        for client in clients { close(client.engine) }
        try store.close()
        try change()
        store = try Store(storage)
    }

    /// A client that comes now.
    func open(
        isLocal: Bool = false,
        _ configure: (inout DatabaseClientConfiguration) -> Void = { _ in }
    ) throws -> EngineUnderTest {
        let own = locks.client()
        let sharing = StoreSharing(signal: signals, locks: own)
        let engine = try EngineUnderTest(
            .inMemory(), store: store, isLocal: isLocal, clock: clock
        ) { configuration in
            configuration.sharing = sharing
            configure(&configuration)
        }
        clients.append((engine, own))
        settle()
        return engine
    }

    /// Runs everything that waits, until nothing does.
    func settle() {
        while clients.reduce(false, { $1.engine.scheduler.drain() || $0 }) {}
    }

    /// Lets time pass, with the timers that are due.
    func pass(_ duration: Duration) {
        clock.advance(by: duration)
        for client in clients { client.engine.scheduler.fireDue() }
        settle()
    }

    /// Ends a client as if its process had been killed: it does nothing any more.
    func kill(_ engine: EngineUnderTest) {
        for client in clients where client.engine === engine { client.locks.releaseAll() }
        clients.removeAll { $0.engine === engine }
        engine.scheduler.retire()
    }

    /// Stops a client for a while: it does nothing, and is not dead.
    func suspend(_ engine: EngineUnderTest) {
        suspended += clients.filter { $0.engine === engine }
        clients.removeAll { $0.engine === engine }
    }

    /// Goes on with the clients that were suspended.
    func resume() {
        clients += suspended
        suspended = []
        settle()
    }

    private var suspended: [(engine: EngineUnderTest, locks: LockTable.Client)] = []

    /// Ends a client in good order.
    func close(_ engine: EngineUnderTest) {
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        clients.removeAll { $0.engine === engine }
        settle()
    }
}

extension EngineUnderTest {
    /// Makes a write of a number.
    func set(_ path: String, _ number: Int64, as name: String) {
        write(.overwrite(TreePath(path), Node(.integer(number))), as: name)
    }

    /// The pending writes as text.
    var pending: [String] {
        let list = Box<[String]>([])
        client.pendingWrites { result in
            let writes = (try? result.get()) ?? []
            list.withLock { list in
                list = writes.map { "\($0.request.path)=\($0.request.values.map(\.node.text))" }
            }
        }
        scheduler.drain()
        return list.withLock { $0 }
    }
}
