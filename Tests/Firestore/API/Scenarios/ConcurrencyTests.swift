import Foundation
import Larder
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization
import Testing

@Suite("Many tasks on one database")
struct ConcurrencyTests {
    private static let workers = 6

    /// What one task has done to documents that it alone writes, and to one of all.
    private struct Log: Sendable {
        /// By document the last number whose write was reported durable, and the last written.
        var numbers: [String: (durable: Int, tried: Int)] = [:]
        var increments = (durable: 0, tried: 0)
    }

    /// Counts the steps of all tasks.
    private final class Count: Sendable {
        private let value = Atomic<Int>(0)

        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }

    /// A task that writes, reads, asks, listens, indexes, pins and evicts.
    private final class Worker {
        let name: String
        let database: Firestore
        var random: SeededRandom
        var log = Log()
        var registrations: [any ListenerRegistration] = []

        init(_ name: String, _ database: Firestore, _ random: SeededRandom) {
            self.name = name
            self.database = database
            self.random = random
        }

        var collection: CollectionReference { database.collection("stress") }

        func step() async throws {
            let id = "\(name)-\(random.below(5))"
            let document = collection.document(id)
            switch random.below(16) {
            case 0...3:
                let number = (log.numbers[id]?.tried ?? 0) + 1
                log.numbers[id, default: (0, 0)].tried = number
                let write = document.enqueueSetData(["n": number, "worker": name])
                if random.oneIn(2) { _ = try await document.getDocument(source: .cache) }
                try await write.committedLocally()
                log.numbers[id, default: (0, 0)].durable = number
            case 4:
                log.increments.tried += 1
                try await collection.document("all").enqueueSetData(
                    ["sum": FieldValue.increment(1)], merge: true
                ).committedLocally()
                log.increments.durable += 1
            case 5:
                log.increments.tried += 1
                let all = collection.document("all")
                _ = try await database.runTransaction(with: Self.patient) { transaction, failure in
                    do {
                        let sum = try transaction.getDocument(all).get("sum") as? Int ?? 0
                        transaction.setData(["sum": sum + 1], forDocument: all, merge: true)
                    } catch {
                        failure?.pointee = error as NSError
                    }
                    return nil
                }
                log.increments.durable += 1
            case 6, 7:
                // What this task has written it reads.
                let expected = log.numbers[id]?.durable
                guard let expected, expected > 0 else { return }
                let found = try await document.getDocument(source: .cache).get("n") as? Int
                if found != expected { Issue.record("\(id) is \(found ?? -1), not \(expected)") }
            case 8, 9:
                let found = try await collection.whereField("worker", isEqualTo: name)
                    .order(by: "n", descending: true).getDocuments(source: .cache)
                let expected = log.numbers.filter { $0.value.durable > 0 }.count
                if found.count != expected {
                    Issue.record("\(name) finds \(found.count), not \(expected)")
                }
            case 10:
                _ = try await collection.whereField("n", isGreaterThan: 3)
                    .aggregate([.count(), .sum("n")]).getAggregation(source: .cache)
            case 11, 12:
                registrations.append(
                    collection.order(by: "n").limit(toLast: 4).addSnapshotListener { _, _ in })
                if registrations.count > 2 || random.oneIn(3) {
                    registrations.remove(at: random.below(registrations.count)).remove()
                }
            case 13:
                let fields: [CacheIndex.Field] = [.ascending("worker"), .descending("n")]
                try await database.setIndexes(
                    random.oneIn(3)
                        ? [] : [CacheIndex("stress", Array(fields.prefix(1 + random.below(2))))])
            case 14:
                registrations.append(collection.whereField("worker", isEqualTo: name).pin())
            default:
                // All of it is pending, and stays.
                let report = try await document.evict()
                if report.evictedCount > 0 { Issue.record("\(id) was evicted") }
            }
        }

        private static var patient: TransactionOptions {
            let options = TransactionOptions()
            options.maxAttempts = 1000
            return options
        }
    }

    /// Runs tasks to their end, or to that of the database; what they have done.
    private static func work(
        on database: Firestore, steps: Int, _ round: String, _ seed: UInt64,
        terminatingAt end: Int? = nil
    ) async throws -> [Log] {
        let count = Count()
        return try await withThrowingTaskGroup(of: Log.self) { group in
            for number in 0..<workers {
                group.addTask {
                    let worker = Worker(
                        "\(round)-\(number)", database, SeededRandom(seed: seed &+ UInt64(number)))
                    do {
                        for _ in 0..<steps {
                            try await worker.step()
                            let done = count.next()
                            if done == end { try await database.terminate() }
                        }
                    } catch let error as LarderError
                        where end != nil && [.failedPrecondition, .cancelled].contains(error.kind)
                    {
                        // The database has ended, and says so.
                    }
                    for registration in worker.registrations { registration.remove() }
                    return worker.log
                }
            }
            var logs: [Log] = []
            for try await log in group { logs.append(log) }
            return logs
        }
    }

    /// Compares documents with what is left of the logs.
    private static func check(_ database: Firestore, _ logs: [Log], _ note: String) async throws {
        let found = try await database.collection("stress").getDocuments(source: .cache)
        var numbers: [String: Int] = [:]
        for document in found.documents { numbers[document.documentID] = document["n"] as? Int }
        for (id, number) in logs.flatMap(\.numbers) {
            let range = number.durable...number.tried
            #expect(range.contains(numbers[id] ?? 0), "\(id) not in \(range); \(note)")
        }
        let sum = found.documents.first { $0.documentID == "all" }?["sum"] as? Int ?? 0
        let least = logs.reduce(0) { $0 + $1.increments.durable }
        let most = logs.reduce(0) { $0 + $1.increments.tried }
        #expect((least...most).contains(sum), "the sum; \(note)")
    }

    private static func configuration(
        _ directory: TemporaryDirectory?, _ queue: DispatchQueue
    ) -> FirestoreConfiguration {
        var configuration =
            directory.map { FirestoreConfiguration(directory: $0.file("store")) } ?? .inMemory
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = queue
        return configuration
    }

    @Test("The final state matches the operations, the listeners and the indexes")
    func work() async throws {
        let random = SeededRandom()
        let queue = DispatchQueue(label: "larder.tests.concurrency")
        let database = try Firestore(configuration: Self.configuration(nil, queue))
        let query = TestQuery(LarderQuery.Query(.collection(try CollectionPath("stress"))))
        let collection = database.collection("stress")
        let listener = DifferentialListener(query, collection, includesMetadata: true)
        let logs = try await Self.work(on: database, steps: 300, "0", random.seed)
        for log in logs {
            for (id, number) in log.numbers { #expect(number.durable == number.tried, "\(id)") }
            #expect(log.increments.durable == log.increments.tried)
        }
        try await Self.check(database, logs, "\(random)")
        await listener.loaded()
        await database.drainCallbacks()
        let (replayed, violation) = listener.replayed
        #expect(violation == nil, "\(random)")
        let found = try await collection.getDocuments(source: .cache).documents
        #expect(replayed.map(\.reference.path) == found.map(\.reference.path), "\(random)")
        #expect(replayed.map { $0["n"] as? Int } == found.map { $0["n"] as? Int }, "\(random)")
        listener.remove()
        try await database.terminate()
    }

    @Test("A database terminated during operations keeps what it reported, and opens again")
    func termination() async throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        let queue = DispatchQueue(label: "larder.tests.concurrency")
        var logs: [Log] = []
        for round in 0..<5 {
            let database = try Firestore(configuration: Self.configuration(directory, queue))
            try await Self.check(database, logs, "round \(round), \(random)")
            logs += try await Self.work(
                on: database, steps: 60, "\(round)", random.next(),
                terminatingAt: 20 + random.below(250))
            try await database.terminate()
        }
        let database = try Firestore(configuration: Self.configuration(directory, queue))
        try await Self.check(database, logs, "at the end, \(random)")
        try await database.terminate()
    }
}
