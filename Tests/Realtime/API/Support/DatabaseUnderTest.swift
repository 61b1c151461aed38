import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeSync
import LarderSharedTestSupport
import Testing

/// A database on a manual clock, whose callbacks run on the test's thread.
final class DatabaseUnderTest {
    let scheduler: ManualScheduler<DatabaseTimer>
    let database: Database
    private let callbacks: Box<[@Sendable () -> Void]>
    private var lines: [String] = []

    init(
        _ storage: DatabaseConfiguration.Storage = .memoryWithoutUnused,
        clock: ManualClock = ManualClock(),
        _ configure: (inout DatabaseConfiguration) -> Void = { _ in }
    ) throws {
        let scheduler = ManualScheduler<DatabaseTimer>(clock: clock)
        let callbacks = Box<[@Sendable () -> Void]>([])
        var configuration = DatabaseConfiguration(storage: storage)
        configuration.scheduler = scheduler
        configuration.clock = { clock.timestamp }
        configuration.callbackRunner = { body in callbacks.withLock { $0.append(body) } }
        configure(&configuration)
        self.scheduler = scheduler
        self.callbacks = callbacks
        database = try Database(configuration: configuration)
        drain()
    }

    /// What waits on a manual clock keeps its engine: the database ends here.
    deinit {
        close()
    }

    /// Runs everything that waits, callbacks included.
    func drain() {
        while drainOnce() {}
    }

    /// Runs what waits now.
    ///
    /// - Returns: true if anything did.
    func drainOnce() -> Bool {
        let ranEngine = scheduler.drain()
        let bodies = callbacks.withLock { bodies in
            defer { bodies = [] }
            return bodies
        }
        for body in bodies { body() }
        return ranEngine || !bodies.isEmpty
    }

    /// Runs the engine, and leaves callbacks waiting.
    func drainEngine() {
        scheduler.drain()
    }

    /// Lets time pass, with the timers that are due.
    func advance(by duration: Duration) {
        drain()
        scheduler.clock.advance(by: duration)
        scheduler.fireDue()
        drain()
    }

    /// The result of an asynchronous call that needs no server, served on this thread.
    nonisolated(nonsending) func wait<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async -> Value
    ) async -> Value {
        let result = Box<Value?>(nil)
        let database = database
        Task {
            let value = await body(database)
            result.withLock { $0 = value }
        }
        while true {
            drain()
            if let value = result.withLock({ $0 }) { return value }
            await Task.yield()
        }
    }

    func close() {
        database.close()
        drain()
    }

    // MARK: The record

    func note(_ line: String) {
        lines.append(line)
    }

    /// True if a line was recorded since the last reading.
    func has(_ line: String) -> Bool { lines.contains(line) }

    /// What has happened since the last call.
    func read() -> [String] {
        drain()
        defer { lines = [] }
        return lines
    }

    /// Records all events of a query, each kind by its own observer, under a name.
    @discardableResult
    func observe(
        _ query: DatabaseQuery, as name: String = "",
        _ types: [DataEventType] = [.childAdded, .childRemoved, .childChanged, .childMoved, .value]
    ) -> [DatabaseHandle] {
        let prefix = name.isEmpty ? "" : name + " "
        return types.map { type in
            query.observe(
                type,
                andPreviousSiblingKeyWith: { [weak self] snapshot, previous in
                    let place = previous.map { " after \($0)" } ?? ""
                    let key = type == .value ? "" : " \(snapshot.key)"
                    self?.note("\(prefix)\(type)\(key) \(snapshot.json)\(place)")
                },
                withCancel: { [weak self] error in
                    self?.note("\(prefix)cancelled \((error as NSError).code)")
                })
        }
    }

    /// A completion block that records the result under a name.
    func completion(_ name: String) -> ((any Error)?, DatabaseReference) -> Void {
        { [weak self] error, _ in
            self?.note(name + (error.map { " failed \(($0 as NSError).code)" } ?? " done"))
        }
    }
}

extension DataSnapshot {
    /// The value in the export format as text with sorted keys.
    var json: String { LarderRealtimeTests.json(valueInExportFormat()) }
}

/// A Foundation value as text with sorted keys.
func json(_ value: Any?) -> String {
    guard let value,
        let data = try? JSONSerialization.data(
            withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
    else { return "nil" }
    return String(decoding: data, as: UTF8.self)
}
