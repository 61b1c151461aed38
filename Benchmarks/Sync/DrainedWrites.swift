import AllocationCount
import BenchmarkMeasuring
import Foundation
import HashTreeCollections
import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync

/// Offline writes, sent to a backend in this process.
struct DrainedWrites {
    let directory: String
    let figures: Figures
    let count: Int

    func callAsFunction(rounds: Int) throws(LarderError) {
        for _ in 0..<rounds {
            figures.add("drain", .larder, try drain(), units: count)
            try watchMemory()
        }
    }

    private func watchMemory() throws(LarderError) {
        let memory = MemoryWatch()
        _ = try drain()
        figures.add("drain.memory", Double(memory.end()))
    }

    /// Queues writes, and measures until the backend has acknowledged all of them.
    private func drain() throws(LarderError) -> Elapsed {
        let path = directory + "/drained"
        try? FileManager.default.removeItem(atPath: path)
        let configuration = MeasuredClient.configuration(path)
        try queue(configuration)
        let backend = try Backend(BackendConfiguration(project: "bench"))
        var online = configuration
        online.remote = backend.connection.remote
        let start = Elapsed.now
        let client = try Client(online)
        if case .failure(let error)? = blocking({ client.waitForPendingWrites($0) }) {
            throw error
        }
        let elapsed = Elapsed.now - start
        guard try backend.documentCount() == count, try client.pendingWrites().isEmpty else {
            throw LarderError(.internal, "not every write has arrived")
        }
        _ = blocking { client.terminate($0) }
        _ = blocking { backend.close($0) }
        return elapsed
    }

    private func queue(_ configuration: ClientConfiguration) throws(LarderError) {
        let offline = try Client(configuration)
        let committed = Counter()
        let builder = try RecordBuilder()
        for number in 0..<count {
            let mutation = Mutation(
                .set(
                    try builder.encode([
                        "number": .integer(Int64(number)), "text": .string(Self.text),
                        "isSet": true,
                    ])), at: try DocumentPath("notes/note\(number)"))
            offline.write(
                [mutation],
                committed: { result in
                    if case .failure(let error) = result { fatalError("\(error)") }
                    committed.add()
                }, acknowledged: { _ in })
        }
        committed.wait(for: count)
        _ = blocking { offline.terminate($0) }
    }

    private static let text = String(repeating: "a note of the usual length; ", count: 7)
}

/// The number of allocations by the network side, and by a whole engine, for a keepalive of the
/// backend.
struct IdleTransitions {
    let directory: String
    let figures: Figures

    private static let count = 1_000
    private static let heartbeat = WatchEvent.response(.targets(TargetChange(.none)))

    func callAsFunction() throws(LarderError) {
        guard malloc_count() >= 0 else { return }
        try ofMachine()
        try ofEngine()
    }

    private func ofMachine() throws(LarderError) {
        var machine = RemoteStore(databaseID: MeasuredClient.databaseID)
        let target = Query(.collection(try CollectionPath("cities"))).target
        machine.listen(TargetData(id: 2, target: target)) { _ in [] }
        _ = machine.takeEffects()
        machine.handle(.opened, generation: 1) { _ in [] }
        machine.handle(
            .response(.targets(TargetChange(.added, targetIDs: [2]))), generation: 1
        ) { _ in [] }
        _ = machine.takeEffects()
        measure("idle.machine") {
            machine.handle(Self.heartbeat, generation: 1) { _ in [] }
            _ = machine.takeEffects()
        }
    }

    private func ofEngine() throws(LarderError) {
        let scheduler = InlineScheduler()
        let client = try MeasuredClient(directory: directory + "/idle", scheduler: scheduler)
        let registration = client.listen(
            to: Query(.collection(try CollectionPath("cities"))))
        scheduler.drain()
        guard client.backend.asked.count == 1 else {
            throw LarderError(.internal, "the target was not asked for")
        }
        measure("idle.engine") {
            client.backend.say(Self.heartbeat)
            scheduler.drain()
        }
        // The target has no snapshot, so the client's end would be reported as an error.
        registration.remove()
        client.client.terminate { _ in }
        scheduler.drain()
        try client.store.close()
    }

    private func measure(_ row: String, _ body: () -> Void) {
        for _ in 0..<10 { body() }
        let before = malloc_count()
        for _ in 0..<Self.count { body() }
        figures.add(row, Double(malloc_count() - before) / Double(Self.count))
    }
}
