import Foundation
import Larder
import LarderModel
import LarderStorage
import LarderTestSupport

extension DifferentialRun {
    func write() async throws {
        let write = random.testWrite(at: random.pick(world.paths))
        let (one, other) = (write.enqueue(in: indexed), write.enqueue(in: plain))
        try await follow([write], one.committedLocally(), other.committedLocally())
    }

    func commitBatch() async throws {
        let writes = (0...random.below(12)).map { _ in
            random.testWrite(at: random.pick(world.paths))
        }
        let (one, other) = (indexed.batch(), plain.batch())
        for write in writes {
            write.add(to: one, in: indexed)
            write.add(to: other, in: plain)
        }
        let (left, right) = (one.enqueueCommit(), other.enqueueCommit())
        try await follow(writes, left.committedLocally(), right.committedLocally())
    }

    /// A transaction reads what the model has, and writes like a batch.
    func commitTransaction() async throws {
        let path = random.pick(world.paths)
        let expected = model.documents[path]
        var writes = [random.testWrite(at: path)]
        if case .update = writes[0].operation, expected == nil {
            // Not what a transaction may update.
            writes[0] = TestWrite(path: path, operation: .delete)
        }
        if random.oneIn(2) { writes.append(random.testWrite(at: path)) }
        for database in [indexed, plain] {
            let writes = writes
            let problem = try await database.runTransaction { transaction, failure in
                do {
                    let document = try transaction.getDocument(database.document(path.string))
                    for write in writes { write.add(to: transaction, in: database) }
                    return Self.difference(document.exists ? document.data() : nil, expected)
                } catch {
                    failure?.pointee = error as NSError
                    return nil
                }
            }
            if let problem { try fail("a transaction read \(path): \(problem)") }
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
        let count = model.evict(matching)
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
        indexed = try Firestore(configuration: Self.configuration(directory, "indexed", queue))
        let pending = try await indexed.pendingWrites().map(\.id)
        if pending != batches.map(\.indexed) {
            try fail("\(pending) are pending after opening again, not \(batches.map(\.indexed))")
        }
        coverage.operations += 1
        try await checkEverything()
    }
}
