import BenchmarkMeasuring
import Foundation
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync

/// The cost of a snapshot for each affected listener, with many and with few unaffected ones.
struct ManyListeners {
    let directory: String
    let figures: Figures
    /// The number of listeners, at least 100.
    let most: Int

    func callAsFunction(rounds: Int) throws(LarderError) {
        let many = try Slots(directory + "/slots-many", documents: most, listeners: most)
        let few = try Slots(directory + "/slots-few", documents: most, listeners: 100)
        let changes = most / 10
        for round in -1..<rounds {
            let examined = many.client.state?.examinedViewCount ?? 0
            let long = try many.change(changes)
            var short = Elapsed()
            for _ in 0..<changes / 100 + 1 {
                let elapsed = try few.change(100)
                short.wall += elapsed.wall
                short.processor += elapsed.processor
            }
            guard round >= 0 else { continue }
            figures.add("fanout", .larder, long, units: changes)
            figures.add(
                "fanout", .reference, short, units: (changes / 100 + 1) * 100)
            let looked = (many.client.state?.examinedViewCount ?? 0) - examined
            figures.add("fanout.examined", Double(looked) / Double(changes))
        }
        try many.client.close()
        try few.client.close()
    }
}

/// Small documents with a slot each, and a listener to each of the first slots.
private final class Slots {
    let client: MeasuredClient
    private let registrations: [ClientRegistration]
    private let ids: [Int32]
    private let builder: RecordBuilder
    private var revision: Int64 = 0

    init(_ directory: String, documents count: Int, listeners: Int) throws(LarderError) {
        builder = try RecordBuilder()
        let slot = try FieldPath("slot")
        let store = try Store(MeasuredClient.storage(directory))
        let builder = builder
        try store.write { transaction throws(LarderError) in
            _ = try transaction.defineIndex(
                IndexDefinition(collectionGroup: "slots", segments: [.init(slot)]))
            for number in 0..<count {
                try transaction.put(
                    try builder.encode(["slot": .integer(Int64(number)), "revision": 0]),
                    at: try DocumentPath("slots/slot\(number)"),
                    version: SnapshotVersion(Timestamp(unchecked: 1, 0)))
            }
        }
        try store.close()
        client = try MeasuredClient(directory: directory)
        let slots = Query.Source.collection(try CollectionPath("slots"))
        let queries = (0..<listeners).map { number in
            Query(
                slots,
                filters: [.field(FieldFilter(slot, .equal, .integer(Int64(number))))])
        }
        var documents: [[Document]] = []
        for query in queries { documents.append(try client.client.run(query).documents) }
        registrations = client.listen(to: queries, with: documents)
        ids = queries.compactMap { [client] in client.backend.targetID($0.target) }
    }

    /// Changes documents that match one listener each, in one snapshot, and waits for all
    /// listeners.
    func change(_ count: Int) throws(LarderError) -> Elapsed {
        revision += 1
        let version = client.backend.newVersion()
        var responses: [WatchResponse] = []
        for number in 0..<count {
            let record = try builder.encode([
                "slot": .integer(Int64(number)), "revision": .integer(revision),
            ])
            responses.append(
                .document(
                    DocumentReading(
                        path: try DocumentPath("slots/slot\(number)"),
                        contents: .found(record, createTime: nil), version: version),
                    targetIDs: [ids[number]], removedTargetIDs: []))
        }
        responses.append(ScriptedBackend.snapshot(version))
        let target = client.told.count + count
        let start = Elapsed.now
        client.backend.say(responses)
        client.told.wait(for: target)
        let elapsed = Elapsed.now - start
        client.settle()
        return elapsed
    }
}
