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
            for kind in Kind.allCases where kind != .documents {
                let row = "drain.\(kind.rawValue)"
                figures.add(row, .reference, try drain(kind, count / 10), units: count / 10)
                figures.add(row, .larder, try drain(kind, count), units: count)
            }
        }
    }

    /// What each write is: a document, or one of many writes of one document.
    private enum Kind: String, CaseIterable {
        case documents, increments, merges, unions, timestamps
    }

    private func watchMemory() throws(LarderError) {
        let memory = MemoryWatch()
        _ = try drain()
        figures.add("drain.memory", Double(memory.end()))
    }

    /// Queues writes, and measures until the backend has acknowledged all of them.
    private func drain(_ kind: Kind = .documents, _ number: Int? = nil)
        throws(LarderError) -> Elapsed
    {
        let count = number ?? count
        let path = directory + "/drained"
        try? FileManager.default.removeItem(atPath: path)
        let configuration = MeasuredClient.configuration(path)
        try queue(kind, count, configuration)
        let backend = try Backend(BackendConfiguration(project: "bench"))
        var online = configuration
        online.remote = backend.connection.remote
        let start = Elapsed.now
        let client = try Client(online)
        if case .failure(let error)? = blocking({ client.waitForPendingWrites($0) }) {
            throw error
        }
        let elapsed = Elapsed.now - start
        guard try backend.documentCount() == (kind == .documents ? count : 1),
            try client.pendingWrites().isEmpty
        else {
            throw LarderError(.internal, "not every write has arrived")
        }
        _ = blocking { client.terminate($0) }
        _ = blocking { backend.close($0) }
        return elapsed
    }

    private func queue(_ kind: Kind, _ count: Int, _ configuration: ClientConfiguration)
        throws(LarderError)
    {
        let offline = try Client(configuration)
        let committed = Counter()
        let builder = try RecordBuilder()
        for number in 0..<count {
            let mutation = try mutation(kind, number, builder)
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

    private func mutation(_ kind: Kind, _ number: Int, _ builder: RecordBuilder)
        throws(LarderError) -> Mutation
    {
        let value = Value.integer(Int64(number))
        let fields: MapValue
        var transforms: [FieldTransform] = []
        switch kind {
        case .documents:
            return Mutation(
                .set(
                    try builder.encode([
                        "number": value, "text": .string(Self.text), "isSet": true,
                    ])), at: try DocumentPath("notes/note\(number)"))
        case .merges: fields = ["number": value]
        case .increments:
            fields = [:]
            transforms = [FieldTransform(try FieldPath("sum"), .increment(1))]
        case .unions:
            fields = [:]
            let element = Value.integer(Int64(number % 10))
            transforms = [FieldTransform(try FieldPath("seen"), .arrayUnion([element]))]
        case .timestamps:
            fields = ["number": value]
            transforms = [FieldTransform(try FieldPath("time"), .serverTimestamp)]
        }
        return Mutation(
            .patch(try builder.encode(fields), FieldMask(leavesOf: fields)),
            at: try DocumentPath("notes/note"), transforms: transforms)
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
