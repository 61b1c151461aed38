import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderSharedTestSupport
import Testing

/// Where clients keep their data.
enum TestStorage: CaseIterable {
    /// In memory, what is needed only.
    case memory
    /// In a store in memory.
    case cacheInMemory
    /// In a store in a directory.
    case disk
}

/// A backend and clients on one manual clock, all run on the test's thread.
final class DatabaseWorld {
    let clock = ManualClock()
    let backend: RealtimeBackend
    private let scheduler: ManualScheduler<RealtimeBackend.Timer>
    private(set) var clients: [DatabaseUnderTest] = []
    private var lastClient = 0

    private let storage: TestStorage
    private let directory: TemporaryDirectory?

    init(
        _ storage: TestStorage = .memory,
        _ configure: (inout RealtimeBackendConfiguration) -> Void = { _ in }
    ) {
        self.storage = storage
        directory = storage == .disk ? try? TemporaryDirectory() : nil
        let scheduler = ManualScheduler<RealtimeBackend.Timer>(clock: clock)
        var configuration = RealtimeBackendConfiguration()
        configuration.scheduler = scheduler
        let clock = clock
        configuration.clock = { clock.timestamp }
        configure(&configuration)
        self.scheduler = scheduler
        backend = RealtimeBackend(configuration)
    }

    /// What waits on a manual clock keeps its engine: clients and sessions end here.
    deinit {
        for client in clients { client.close() }
        drain()
    }

    /// A new client of the backend.
    ///
    /// - Parameter name: that of its store; one of that name that was closed is opened again.
    func client(
        named name: String? = nil, _ configure: (inout DatabaseConfiguration) -> Void = { _ in }
    ) throws -> DatabaseUnderTest {
        lastClient += 1
        let client = try DatabaseUnderTest(
            kind(name ?? "client \(lastClient)"), clock: clock
        ) {
            $0.backend = backend.connection
            configure(&$0)
        }
        clients.append(client)
        drain()
        return client
    }

    private func kind(_ name: String) -> DatabaseConfiguration.Storage {
        switch storage {
        case .memory: .memoryWithoutUnused
        case .cacheInMemory: .memory
        case .disk: .directory(directory?.file(name) ?? "")
        }
    }

    /// Ends a client, as the end of its process does; what it has stored stays.
    func close(_ client: DatabaseUnderTest) {
        client.database.close()
        drain()
        clients.removeAll { $0 === client }
    }

    /// Runs everything that waits, until nothing does.
    func drain() {
        while true {
            let ranBackend = scheduler.drain()
            let ranClients = clients.map { $0.drainOnce() }.contains(true)
            if !ranBackend, !ranClients { return }
        }
    }

    /// Runs everything until a condition holds that depends on a task, such as that of a token.
    nonisolated(nonsending) func wait(until condition: () -> Bool) async {
        while true {
            drain()
            if condition() { return }
            await Task.yield()
        }
    }

    /// What a client has recorded, once everything has run.
    func read(_ client: DatabaseUnderTest) -> [String] {
        drain()
        return client.read()
    }

    /// Lets time pass, with the timers that are due.
    func advance(by duration: Duration) {
        drain()
        clock.advance(by: duration)
        for client in clients { client.scheduler.fireDue() }
        scheduler.fireDue()
        drain()
    }

    /// The backend's data at a path, in the export format.
    func data(at path: String) -> String {
        drain()
        let node = backend.tree().node(at: TreePath(path))
        var bytes: [UInt8] = []
        JSONWriter.append(node.exportedJSON, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes as an administrator.
    func put(_ path: String, _ json: JSONValue) throws {
        let path = TreePath(path)
        backend.write(TreeWrite(path, try Node(validating: json, at: path)))
        drain()
    }

    /// Breaks all connections; the clients connect again.
    func dropConnections() {
        backend.dropConnections()
        drain()
    }
}
