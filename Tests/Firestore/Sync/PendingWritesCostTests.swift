import LarderCore
import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import LarderTestSupport
import Testing

#if DEBUG
    /// What answers to pending writes of a document cost beside many later ones: the batches that are
    /// applied again.
    @Suite("The cost of many pending writes of one document")
    struct PendingWritesCostTests {
        private static let count = 300
        private let fixture: LocalStoreFixture
        private let path: DocumentPath
        private let builder: RecordBuilder

        enum Kind: CaseIterable {
            case increments, merges, sets, unions, removals, extremes, timestamps, stampedIncrements
        }

        init() throws {
            fixture = try LocalStoreFixture()
            path = try DocumentPath("c/a")
            builder = try RecordBuilder()
        }

        private func mutation(_ kind: Kind, _ number: Int) throws -> Mutation {
            let value = Value.integer(Int64(number))
            let (n, t) = (try FieldPath("n"), try FieldPath("t"))
            let transforms: [FieldTransform] =
                switch kind {
                case .sets, .merges: []
                case .increments: [FieldTransform(n, .increment(1))]
                case .unions: [FieldTransform(n, .arrayUnion([value]))]
                case .removals: [FieldTransform(n, .arrayRemove([value]))]
                case .extremes: [FieldTransform(n, .maximum(value))]
                case .timestamps: [FieldTransform(t, .serverTimestamp)]
                case .stampedIncrements:
                    [FieldTransform(n, .increment(1)), FieldTransform(t, .serverTimestamp)]
                }
            if kind == .sets { return Mutation(.set(try Record(["m": value])), at: path) }
            let fields: MapValue = kind == .merges ? ["m": value] : [:]
            return Mutation(
                .patch(try Record(fields), FieldMask(leavesOf: fields)), at: path,
                transforms: transforms)
        }

        /// Queues writes, each at a time of its own.
        private func queue(_ kind: Kind) throws -> [(id: Int64, mutation: Mutation)] {
            try (0..<Self.count).map { number in
                let mutation = try mutation(kind, number)
                let write = QueuedWrite(
                    mutations: [mutation],
                    localWriteTime: Timestamp(seconds: Int64(number), nanoseconds: 0))
                return (try fixture.local.write([write])[0].get().id, mutation)
            }
        }

        /// The batches that are applied again in an operation.
        private func steps(_ body: () throws -> Void) rethrows -> Int {
            let steps = StepCount()
            try StepCount.$current.withValue(steps, operation: body)
            return steps.count
        }

        /// What the view is when all pending writes are applied to the cached document.
        private func expectView(_ isRight: (Document?) -> Bool) throws {
            #expect(isRight(try fixture.view("c/a")))
        }

        @Test("acknowledging in order applies a few of them for each", arguments: Kind.allCases)
        func acknowledging(_ kind: Kind) throws {
            let batches = try queue(kind)
            let last = try fixture.view("c/a")
            var committed = WorkingDocument(nil)
            let steps = try steps {
                for (number, batch) in batches.enumerated() {
                    let version = SnapshotVersion(seconds: Int64(1_000 + number))
                    let result = try committed.commit(
                        batch.mutation, at: version, using: builder)
                    let response = CommitResponse(commitVersion: version, results: [result])
                    _ = try fixture.local.acknowledge([(batch.id, response)])
                    guard number < batches.count - 1 else { continue }
                    for name in ["n", "m"] {
                        try expectView {
                            $0?.record?.fields[name] == last?.record?.fields[name]
                                && $0?.hasLocalMutations == true
                        }
                    }
                    try expectPrevious(is: committed.record?.fields["t"])
                }
            }
            #expect(steps <= 4 * batches.count)
            try expectView { $0?.hasLocalMutations == false && $0?.record == committed.record }
        }

        /// The time before a pending timestamp is that of the last acknowledged write.
        private func expectPrevious(is time: Value?) throws {
            guard case .serverTimestamp(let pending)? = try fixture.view("c/a")?.record?.fields["t"]
            else { return }
            #expect(pending.previous == time)
        }

        @Test("so do snapshots with what is acknowledged, and with fields that are not written")
        func snapshots() throws {
            let batches = try queue(.increments)
            let steps = try steps {
                for (number, batch) in batches.prefix(100).enumerated() {
                    let count = Int64(number + 1)
                    try fixture.acknowledge(
                        (batch.id, []), at: 10 * count, [[.integer(count)]])
                    try fixture.learn("c/a", ["n": .integer(count)], at: 10 * count)
                    try fixture.learn(
                        "c/a", ["n": .integer(count), "other": .integer(count)],
                        at: 10 * count + 5)
                    try expectView {
                        $0?.record?.fields["n"] == .integer(Int64(Self.count))
                            && $0?.record?.fields["other"] == .integer(count)
                    }
                    try fixture.learn("c/a", ["n": .integer(count)], at: 10 * count + 6)
                }
            }
            #expect(steps <= 400)
        }

        @Test("so do increments of others, which come before the acknowledgements")
        func othersIncrements() throws {
            let batches = try queue(.increments)
            var sum: Int64 = 0
            let steps = try steps {
                for (number, batch) in batches.prefix(100).enumerated() {
                    sum += 8
                    try fixture.learn("c/a", ["n": .integer(sum)], at: 10 * Int64(number + 1))
                    try fixture.acknowledge(
                        (batch.id, []), at: 10 * Int64(number + 1), [[.integer(sum)]])
                }
            }
            #expect(steps <= 500)
        }

        @Test("refusing writes that have no effect applies a few of the later ones")
        func refusing() throws {
            let update = Mutation(
                .patch(try Record(["n": 1]), FieldMask([try FieldPath("n")])), at: path,
                precondition: .exists(true))
            let ids = try (0..<Self.count).map { _ in try fixture.write(update).id }
            let steps = try steps {
                for id in ids {
                    _ = try fixture.local.reject(
                        [id], because: LarderError(.notFound, "no document"),
                        at: Timestamp(seconds: 1, nanoseconds: 0))
                }
            }
            #expect(steps <= 2 * ids.count)
        }
    }
#endif
