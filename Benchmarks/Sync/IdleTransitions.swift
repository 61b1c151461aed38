import AllocationCount
import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderStorage
import LarderSync

/// How often the network side, and an engine as a whole, allocate memory when the backend says
/// only that it is there.
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
        // It has had no snapshot, and the client's end would be an error to it.
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
