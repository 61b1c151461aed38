import LarderModel
import LarderTestSupport
import Testing

@Suite("Mutations committed by a backend")
struct WorkingDocumentCommittingTests {
    private let builder: RecordBuilder
    private let path: DocumentPath
    private let version = SnapshotVersion(Timestamp(seconds: 9, nanoseconds: 123_987_000))

    init() throws {
        builder = try RecordBuilder()
        path = try DocumentPath("c/a")
    }

    private func commit(
        _ operation: Mutation.Operation, _ transforms: [(String, FieldTransform.Operation)] = [],
        over fields: MapValue?
    ) throws -> (fields: MapValue?, results: [Value]) {
        let old = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
        var document = WorkingDocument(
            state: try fields.map { .found(try Record($0)) } ?? .absent, version: old)
        let mutation = Mutation(
            operation, at: path,
            transforms: try transforms.map { FieldTransform(try FieldPath(dotted: $0), $1) })
        let result = try document.commit(mutation, at: version, using: builder)
        return (document.record?.fields, result.transformResults)
    }

    @Test("The server timestamp is the commit's version in milliseconds, rounded down")
    func serverTimestamp() throws {
        let time = Value.timestamp(Timestamp(seconds: 9, nanoseconds: 123_000_000))
        let done = try commit(.set(Record([:])), [("t", .serverTimestamp)], over: nil)
        #expect(done.fields == ["t": time])
        #expect(done.results == [time])
    }

    @Test("Numbers are answered as they are, changes of arrays with null")
    func results() throws {
        let done = try commit(
            .patch(Record([:]), FieldMask([])),
            [
                ("n", .increment(.integer(.max))), ("d", .increment(0.5)), ("low", .minimum(2)),
                ("high", .maximum(2)), ("u", .arrayUnion([2, 2, 3])), ("r", .arrayRemove([1])),
            ],
            over: ["n": 5, "d": 1, "low": 3, "high": 3, "u": [1, 2], "r": [1, 2, 1]])
        #expect(
            done.fields == [
                "n": .integer(.max), "d": 1.5, "low": 2, "high": 3, "u": [1, 2, 3], "r": [2],
            ])
        #expect(done.results == [.integer(.max), 1.5, 2, 3, .null, .null])
    }

    @Test("Transforms follow the set or patch, each applied to the result of the previous")
    func order() throws {
        let set = try commit(.set(Record(["m": 1])), [("n", .increment(1))], over: ["n": 5])
        #expect(set.fields == ["m": 1, "n": 1])
        let patch = try commit(
            .patch(Record(["n": 7]), FieldMask([try FieldPath("n")])),
            [("n", .increment(1)), ("n", .increment(2)), ("o.p", .increment(1))], over: ["n": 5])
        #expect(patch.fields == ["n": 10, "o": ["p": 1]])
        #expect(patch.results == [8, 10, 1])
    }

    @Test("Random mutations of the numbers and arrays of a model")
    func random() throws {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let before: MapValue? = random.oneIn(4) ? nil : random.map(depth: 2)
            let mutation = try random.mutation(at: path, versions: [version])
            var document = WorkingDocument(
                state: try before.map { .found(try Record($0)) } ?? .absent, version: .none)
            _ = try document.commit(mutation, at: version, using: builder)
            let expected = mutation.committedModelFields(over: before) { transform, value in
                if case .serverTimestamp = transform.operation {
                    return .timestamp(version.timestamp.modelServerTimestamp)
                }
                return transform.operation.modelEstimate(value, version.timestamp)
            }
            #expect(document.record?.fields == expected, "\(mutation), \(random)")
        }
    }
}
