import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import Measuring
import Synchronization

/// Many listeners: the cost of a change, and their memory.
///
/// The documents are small, with an index on the field of the listeners' queries, so that setting
/// up 10,000 of them takes seconds.
struct ListenerOperations {
    let run: Run

    static let name = "listeners"

    private var listenerCount: Int { run.options.isQuick ? 500 : 10_000 }

    private static let change = Row(
        id: "listeners.change", title: "one document changed, 10,000 listeners",
        unit: .microseconds, limits: [.atMost(2, times: .reference, .processor)],
        reference: "10 listeners")
    private static let memory = Row(
        id: "listeners.memory", title: "an idle listener without results", unit: .bytes,
        limits: [.value(2048)])

    func callAsFunction() async throws {
        guard run.options.includes(Self.name), run.options.systems.contains(.larder) else { return }
        let few = try await Slots(run.path("slots-few"), count: listenerCount)
        let many = try await Slots(run.path("slots-many"), count: listenerCount)
        try await many.listen(to: listenerCount..<2 * listenerCount)
        let before = ProcessMemory.settled()
        try await many.listen(to: 2 * listenerCount..<3 * listenerCount)
        let bytes = Double(ProcessMemory.settled() - before) / Double(listenerCount)
        run.report.add(
            Self.memory, count: listenerCount, .larder, Elapsed(wall: bytes, processor: bytes))
        run.report.printRow(Self.memory.id, count: listenerCount)
        many.removeListeners()

        try await few.listen(to: 0..<10)
        try await many.listen(to: 0..<listenerCount)
        let changes = run.options.isQuick ? 20 : 200
        try await run.measure(
            Self.change, count: listenerCount, units: changes, expected: changes,
            rounds: max(run.options.rounds, 3),
            [
                (.larder, { try await many.change(changes) }),
                (.reference, { try await few.change(changes) }),
            ])
        many.removeListeners()
        few.removeListeners()
        try await few.db.terminate()
        try await many.db.terminate()
    }
}

/// A database of documents with a slot each, and listeners to slots.
private final class Slots {
    let db: Firestore
    private let slots: CollectionReference
    private let told = Told()
    private var registrations: [any ListenerRegistration] = []
    private var revision = 0

    init(_ directory: String, count: Int) async throws {
        var storage = StoreConfiguration(directory: directory)
        storage.durability = .lastCommitAtRisk
        let store = try Store(storage)
        let builder = try RecordBuilder()
        for start in stride(from: 0, to: count, by: 1_000) {
            try store.write { transaction throws(LarderError) in
                for slot in start..<min(start + 1_000, count) {
                    try transaction.put(
                        try builder.encode(["slot": .integer(Int64(slot)), "revision": 0]),
                        at: try DocumentPath("slots/slot\(slot)"),
                        version: SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0)))
                }
            }
        }
        try store.close()
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.durability = .lastCommitAtRisk
        db = try Firestore(configuration: configuration)
        slots = db.collection("slots")
        try await db.setIndexes([CacheIndex("slots", [.ascending("slot")])])
        while try !db.indexes().allSatisfy(\.isComplete) {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Listens to slots and waits for the first snapshots.
    func listen(to range: Range<Int>) async throws {
        let target = told.count + range.count
        for slot in range {
            registrations.append(
                slots.whereField("slot", isEqualTo: slot).addSnapshotListener {
                    [told] snapshot, error in
                    if let error { fatalError("a listener failed: \(error)") }
                    if snapshot != nil { told.add() }
                })
        }
        await told.wait(for: target)
    }

    func removeListeners() {
        for registration in registrations { registration.remove() }
        registrations = []
    }

    /// Changes documents that match one listener each, and waits for all snapshots.
    func change(_ count: Int) async throws -> Int {
        let before = told.count
        for step in 0..<count {
            revision += 1
            _ = slots.document("slot\(step % 10)").enqueueUpdateData(["revision": revision])
            await told.wait(for: before + step + 1)
        }
        return told.count - before
    }
}

/// Counts snapshots, and lets one task wait for a number of them.
private final class Told: Sendable {
    private struct State {
        var count = 0
        var target = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    func add() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count += 1
            guard state.count >= state.target else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func wait(for target: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.count < target else { return true }
                state.target = target
                state.waiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
