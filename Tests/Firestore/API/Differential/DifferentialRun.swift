import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderTestSupport

/// Random operations on a database with indexes, the same on one without, and on
/// ``DifferentialModel``; what they answer must be the same.
final class DifferentialRun {
    /// What a run has been through, to see that it was not about nothing.
    struct Coverage: Sendable {
        var operations = 0
        var queries = 0
        var found = 0
        var plans: [String: Int] = [:]

        mutating func add(_ other: Coverage) {
            operations += other.operations
            queries += other.queries
            found += other.found
            plans.merge(other.plans, uniquingKeysWith: +)
        }
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    var random: SeededRandom
    var coverage = Coverage()
    let world: DifferentialWorld
    let directory: TemporaryDirectory?
    /// True if the databases are local: writes are final.
    let isLocal: Bool
    var indexed: Firestore
    let plain: Firestore
    var model = DifferentialModel()
    var listeners: [DifferentialListener] = []
    /// The batches of both databases that are pending, in order.
    var batches: [(indexed: Int64, plain: Int64)] = []
    let queue = DispatchQueue(label: "larder.tests.differential")

    /// A run on a store in a directory, with documents in the cache from the beginning, or in
    /// memory.
    init(_ random: SeededRandom, onDisk: Bool, isLocal: Bool = false) async throws {
        self.random = random
        self.isLocal = isLocal
        directory = onDisk ? try TemporaryDirectory() : nil
        world = try DifferentialWorld()
        if let directory {
            for path in world.paths where !self.random.oneIn(3) {
                model.cache(path, self.random.oneIn(6) ? nil : self.random.planningFields())
            }
            for name in ["indexed", "plain"] {
                try Self.fill(directory.file(name), model, isImport: isLocal)
            }
        }
        indexed = try Firestore(
            configuration: Self.configuration(directory, "indexed", queue, isLocal: isLocal))
        plain = try Firestore(
            configuration: Self.configuration(directory, "plain", queue, isLocal: isLocal))
        if self.random.oneIn(2) { try await changeIndexes() }
    }

    static func configuration(
        _ directory: TemporaryDirectory?, _ name: String, _ queue: DispatchQueue,
        isLocal: Bool = false
    ) -> FirestoreConfiguration {
        var configuration =
            directory.map { FirestoreConfiguration(directory: $0.file(name)) } ?? .inMemory
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = queue
        configuration.isLocal = isLocal
        return configuration
    }

    /// Puts documents into a store as a backend would have them there.
    private static func fill(
        _ directory: String, _ model: DifferentialModel, isImport: Bool
    ) throws {
        let store = try Store(StoreConfiguration(directory: directory))
        try store.write { (transaction) throws(LarderError) in
            if isImport { try transaction.putRole(.imported) }
            for (path, fields) in model.cached {
                let version = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
                if let fields {
                    try transaction.put(try Record(fields), at: path, version: version)
                } else {
                    try transaction.putAbsent(at: path, version: version)
                }
            }
        }
        try store.close()
    }

    func end() async throws {
        for listener in listeners { listener.remove() }
        try await indexed.terminate()
        try await plain.terminate()
    }

    /// Makes random operations, at least so many.
    func run(_ count: Int) async throws {
        while coverage.operations < count { try await step() }
        try await checkEverything()
    }

    private func step() async throws {
        switch random.below(100) {
        case 0..<30: try await write()
        case 30..<36: try await commitBatch()
        case 36..<40: try await commitTransaction()
        case 40..<44: if isLocal { try await writeInBulk() } else { try await cancel() }
        case 44..<80: try await runQuery()
        case 80..<87: try await runAggregate()
        case 87..<93: try await readDocument()
        case 93..<95: try await changeListeners()
        case 95..<97: try await changeIndexes()
        case 97..<98: try await evict()
        default:
            if random.oneIn(5) { try await reopen() }
        }
    }

    func fail(_ text: String) throws -> Never {
        throw Violation(description: "\(text)\nafter \(coverage.operations) operations; \(random)")
    }
}

// MARK: - Writes

extension DifferentialRun {
    /// A write of a random document.
    private func testWrite(at path: DocumentPath? = nil) throws -> TestWrite {
        while true {
            let write = random.testWrite(at: path ?? random.pick(world.paths))
            // Two local databases do not commit at the same time.
            let hasTime = try write.mutation.transforms.contains {
                $0.operation == .serverTimestamp
            }
            if !isLocal || !hasTime { return write }
        }
    }

    func write() async throws {
        let write = try testWrite()
        let (one, other) = (write.enqueue(in: indexed), write.enqueue(in: plain))
        try await follow([write], one, other)
    }

    func commitBatch() async throws {
        let writes = try (0...random.below(12)).map { _ in try testWrite() }
        let (one, other) = (indexed.batch(), plain.batch())
        for write in writes {
            write.add(to: one, in: indexed)
            write.add(to: other, in: plain)
        }
        let (left, right) = (one.enqueueCommit(), other.enqueueCommit())
        try await follow(writes, left, right)
    }

    private func follow(
        _ writes: [TestWrite], _ indexed: WriteHandle, _ plain: WriteHandle
    ) async throws {
        guard isLocal else {
            return try await follow(
                writes, indexed.committedLocally(), plain.committedLocally())
        }
        let isMade = model.write(try writes.map { try $0.mutation })
        for handle in [indexed, plain] {
            let failure = await code {
                guard try await handle.committedLocally() == nil else {
                    try self.fail("a write is in the queue: \(writes)")
                }
                try await handle.acknowledged()
            }
            if failure != (isMade ? nil : .notFound) {
                try fail("\(writes): \(String(describing: failure))")
            }
        }
        coverage.operations += writes.count
        try await checkListeners("\(writes)")
    }

    /// Writes to different documents, each of which is made by itself.
    func writeInBulk() async throws {
        var writes: [DocumentPath: TestWrite] = [:]
        for _ in 0...random.below(5) {
            let write = try testWrite()
            writes[write.path] = write
        }
        let made = try writes.mapValues { model.write([try $0.mutation]) }
        for database in [indexed, plain] {
            let writer = database.bulkWriter()
            let handles = writes.mapValues { $0.add(to: writer, in: database) }
            await writer.flush()
            for (path, handle) in handles {
                let failure = await code { _ = try await handle.result() }
                if failure != (made[path] == true ? nil : .notFound) {
                    try fail("in bulk, \(path): \(String(describing: failure))")
                }
            }
        }
        coverage.operations += writes.count
        try await checkListeners("bulk")
    }

    /// A transaction reads what the model has, and writes like a batch.
    func commitTransaction() async throws {
        let path = random.pick(world.paths)
        let expected = model.documents[path]
        var writes = [try testWrite(at: path)]
        if case .update = writes[0].operation, expected == nil {
            // Not what a transaction may update.
            writes[0] = TestWrite(path: path, operation: .delete)
        }
        if random.oneIn(2) { writes.append(try testWrite(at: path)) }
        let mutations = try writes.map { try $0.mutation }
        let isRefused = isLocal && !model.write(mutations)
        for database in [indexed, plain] {
            let writes = writes
            let problem: Any?
            do {
                problem = try await database.runTransaction { transaction, failure in
                    do {
                        let document = try transaction.getDocument(database.document(path.string))
                        for write in writes { write.add(to: transaction, in: database) }
                        return Self.difference(document.exists ? document.data() : nil, expected)
                    } catch {
                        failure?.pointee = error as NSError
                        return nil
                    }
                }
                if isRefused { try fail("a transaction was not refused: \(writes)") }
            } catch let error as LarderError where isRefused && error.kind == .notFound {
                continue
            }
            if let problem { try fail("a transaction read \(path): \(problem)") }
        }
        if isLocal {
            coverage.operations += writes.count
            return try await checkListeners("\(writes)")
        }
        let ids = (
            try await indexed.pendingWrites().last?.id, try await plain.pendingWrites().last?.id
        )
        try await follow(writes, ids.0, ids.1)
    }

    /// Has the model do what the databases have done, and checks who listens.
    private func follow(_ writes: [TestWrite], _ indexed: Int64?, _ plain: Int64?) async throws {
        guard let indexed, let plain else { try fail("a write left no batch: \(writes)") }
        let mutations = try writes.map { try $0.mutation }
        // The model's clock is the database's, where that counts.
        var time = Timestamp.epoch
        if mutations.contains(where: { $0.transforms.contains { $0.operation == .serverTimestamp } }
        ) {
            guard let last = try await self.indexed.pendingWrites().last, last.id == indexed else {
                try fail("the last pending write is not the last")
            }
            time = last.writeTime
        }
        model.write(mutations, at: time, as: indexed)
        batches.append((indexed, plain))
        coverage.operations += writes.count
        try await checkListeners("\(writes)")
    }

    func cancel() async throws {
        guard !batches.isEmpty else { return }
        let position = random.below(batches.count)
        let batch = batches.remove(at: position)
        model.cancel(batch.indexed)
        guard try await indexed.cancelPendingWrite(batch.indexed),
            try await plain.cancelPendingWrite(batch.plain)
        else { try fail("batch \(batch) was not pending") }
        coverage.operations += 1
        try await checkListeners("cancel")
    }

    func evict() async throws {
        let query = TestQuery(&random, in: world, model.documents)
        let matching = NaiveEvaluator(query.content).documents(among: model.documents)
        // A local database evicts nothing.
        let count = isLocal ? 0 : model.evict(matching)
        for database in [indexed, plain] {
            let report = try await query.query(in: database).evict()
            if report.evictedCount != count || report.keptCount != matching.count - count {
                try fail("evicting \(query.content): \(report), not \(count) of \(matching)")
            }
        }
        coverage.operations += 1
        try await checkListeners("evict \(query.content)")
    }

    func changeIndexes() async throws {
        let groups = ["rooms", "rooms", "other"]
        var indexes: [CacheIndex] = []
        for _ in 0..<(random.oneIn(5) ? 0 : random.below(7)) {
            let fields = world.fields.shuffled(using: &random).prefix(1 + random.below(3))
            var hasContains = false
            let segments = fields.map { path in
                let isContains = path.last == "tags" && !hasContains && random.oneIn(2)
                hasContains = hasContains || isContains
                return CacheIndex.Field(
                    Larder.FieldPath(path.segments),
                    isContains ? .contains : random.oneIn(2) ? .ascending : .descending)
            }
            let index = CacheIndex(random.pick(groups), segments)
            if !indexes.contains(index) { indexes.append(index) }
        }
        try await indexed.setIndexes(indexes)
        coverage.operations += 1
    }

    /// Closes the database with indexes and opens it again; listeners end with it.
    func reopen() async throws {
        guard let directory else { return }
        for listener in listeners { listener.remove() }
        listeners = []
        try await indexed.terminate()
        // The store stays a local database, whether or not that is said again.
        indexed = try Firestore(
            configuration: Self.configuration(
                directory, "indexed", queue, isLocal: isLocal && random.oneIn(2)))
        let pending = try await indexed.pendingWrites().map(\.id)
        if pending != batches.map(\.indexed) {
            try fail("\(pending) are pending after opening again, not \(batches.map(\.indexed))")
        }
        coverage.operations += 1
        try await checkEverything()
    }
}
