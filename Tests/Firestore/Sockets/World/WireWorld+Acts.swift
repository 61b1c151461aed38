import Foundation
import Larder
import LarderGRPC
import LarderModel
import LarderNetworkTestSupport
import LarderRemote
import LarderTestSupport

extension WireWorld {
    /// What is done in a world.
    private enum Act: CaseIterable {
        case write, writeElsewhere, listen, remove, get, aggregate, transaction
        case cut, cutSoon, hold, release, strand, deliver, swallow, refuse, healNetwork
        case disableNetwork, enableNetwork, restartClient, stopServer, startServer, breathe

        /// How often it is done.
        var weight: Int {
            switch self {
            case .write: 40
            case .breathe: 20
            case .writeElsewhere, .listen: 10
            case .cut, .cutSoon, .get, .release, .healNetwork, .startServer: 6
            case .enableNetwork: 4
            case .remove, .transaction, .hold, .strand, .deliver, .restartClient: 3
            case .aggregate, .swallow, .refuse, .disableNetwork, .stopServer: 2
            }
        }
    }

    private static let acts = Act.allCases.flatMap { Array(repeating: $0, count: $0.weight) }

    /// Makes a random operation.
    func act() async throws {
        let client = random.pick(clients)
        let act = random.pick(Self.acts)
        note("\(client.number) \(act)")
        switch act {
        case .write: await write(client)
        case .writeElsewhere: try await writeElsewhere()
        case .listen: try client.listen(to: query(client.db), includesMetadata: random.oneIn(2))
        case .remove: if !client.listeners.isEmpty { client.remove(random.pick(client.listeners)) }
        case .get: get(client)
        case .aggregate: aggregate(client)
        case .transaction: runTransaction(client)
        case .cut: await client.proxy.cut()
        case .cutSoon: await client.proxy.cut(after: 1 + random.below(2_000), .oneWay(&random))
        case .hold: await client.proxy.hold(.oneWay(&random))
        case .strand: await client.proxy.strand(after: random.below(500))
        case .deliver: await client.proxy.deliver()
        case .release: await client.proxy.release()
        case .swallow: await client.proxy.swallow(Proxy.Direction.oneWayOrBoth(&random))
        case .refuse: await client.proxy.refuse()
        case .healNetwork: await client.proxy.heal()
        case .disableNetwork: try await client.db.disableNetwork()
        case .enableNetwork: try await client.db.enableNetwork()
        case .restartClient: try await client.restart()
        case .stopServer: try await server.stop()
        case .startServer: try await startServer()
        case .breathe: if server.isRunning { try await breathe() }
        }
    }

    private func startServer() async throws {
        guard !server.isRunning else { return }
        if random.oneIn(2) { server.changeToken() }
        try await server.start()
    }

    private func query(_ db: Firestore) -> Query {
        let all = db.collection("c")
        switch random.below(7) {
        case 0: return all
        case 1: return all.whereField("n", isGreaterThan: random.below(20))
        case 2: return all.order(by: "n").limit(to: 3)
        case 3: return all.order(by: "n").limit(toLast: 2)
        case 4: return all.whereField("n", in: [random.below(20), random.below(20), 7])
        case 5: return all.whereField("tags", arrayContains: random.below(3))
        default: return db.collectionGroup("log")
        }
    }

    // MARK: Writes

    /// Ids of documents that clients write: those that begin with d are deleted, too.
    private func documentID() -> String {
        (random.oneIn(2) ? "k" : "d") + "\(random.below(4))"
    }

    /// A batch that leaves a document of its own behind, and changes others.
    private func write(_ client: WireClient) async {
        let number = makeNumber()
        let batch = client.db.batch()
        batch.setData(["w": number], forDocument: client.db.document("log/w\(number)"))
        var changed: [String] = []
        for _ in 0...random.below(3) {
            let id = documentID()
            changed.append(id)
            change(client.db.document("c/\(id)"), batch, number)
        }
        let counts = random.oneIn(2)
        if counts {
            batch.setData(
                ["n": FieldValue.increment(Int64(1))], forDocument: client.db.document("t/sum"),
                merge: true)
        }
        let handle = batch.enqueueCommit()
        // An update of what is known not to be there is refused at once.
        guard (try? await handle.committedLocally()) != nil else { return }
        let write = WireWrite(
            number: number, client: client.number, changed: changed, counts: counts)
        writes.append(write)
        begin("write \(number) of client \(client.number)") { await write.follow(handle) }
    }

    private func change(_ document: DocumentReference, _ batch: WriteBatch, _ number: Int) {
        let plain: [String: Any] = ["w": number, "n": random.below(20)]
        switch random.below(10) {
        case 0 where document.documentID.hasPrefix("d"): batch.deleteDocument(document)
        case 1...2: batch.setData(plain, forDocument: document, merge: true)
        case 3:
            batch.setData(
                ["w": number, "count": FieldValue.increment(Int64(1))], forDocument: document,
                merge: true)
        case 4: batch.updateData(["w": number, "n": random.below(20)], forDocument: document)
        case 5:
            batch.setData(
                [
                    "w": number, "tags": FieldValue.arrayUnion([random.below(3)]),
                    "at": FieldValue.serverTimestamp(),
                ], forDocument: document, merge: true)
        default: batch.setData(plain, forDocument: document)
        }
    }

    /// A client whose connection does not break writes.
    private func writeElsewhere() async throws {
        guard server.isRunning else { return }
        let number = makeNumber()
        // No other client writes those that begin with e.
        let id = random.oneIn(2) ? "e\(random.below(3))" : documentID()
        let fields: MapValue = [
            "w": .integer(Int64(number)), "n": .integer(Int64(random.below(20))),
        ]
        let record = try Record(fields)
        let paths = try ["log/w\(number)", "c/\(id)"].map { try DocumentPath($0) }
        let mutations = paths.map { Mutation(.set(record), at: $0) }
        let remote = witness.connection.remote
        let result = await withCheckedContinuation { continuation in
            remote.commit(mutations, as: Credentials()) { continuation.resume(returning: $0) }
        }
        guard case .success(let response) = result else { return }
        // No other client may see it before it is overwritten.
        let sightings = paths.map {
            WireLedger.Sighting(
                path: $0, version: response.commitVersion, record: record, isPending: false)
        }
        ledger.note(sightings, by: "who wrote it")
        let write = WireWrite(number: number, client: 0, changed: [id])
        write.noteAcknowledgement()
        writes.append(write)
    }

    // MARK: What is not waited for

    private func get(_ client: WireClient) {
        let query = query(client.db)
        let source = random.pick([FirestoreSource.default, .server, .cache])
        begin("a get of client \(client.number) from \(source)") {
            _ = try? await query.getDocuments(source: source)
        }
    }

    private func aggregate(_ client: WireClient) {
        let query = query(client.db)
        begin("an aggregation of client \(client.number)") {
            _ = try? await query.count.getAggregation(source: .server)
        }
    }

    private func runTransaction(_ client: WireClient) {
        let number = makeNumber()
        let write = WireWrite(number: number, client: client.number, changed: [], isQueued: false)
        writes.append(write)
        let db = client.db
        begin("transaction \(number) of client \(client.number)") {
            let options = TransactionOptions()
            options.maxAttempts = 2
            let counter = db.document("t/counter")
            let result = try? await db.runTransaction(with: options) { transaction, error in
                do {
                    let count = try transaction.getDocument(counter).data()?["n"] as? Int
                    transaction.setData(["n": (count ?? 0) + 1], forDocument: counter)
                    transaction.setData(
                        ["w": number], forDocument: db.document("log/w\(number)"))
                    return true
                } catch let failure as NSError {
                    error?.pointee = failure
                    return nil
                }
            }
            if result != nil { write.noteAcknowledgement() }
        }
    }
}
