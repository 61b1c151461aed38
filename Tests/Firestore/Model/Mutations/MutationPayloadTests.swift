import LarderModel
import LarderTestSupport
import Testing

@Suite("Payloads of pending writes")
struct MutationPayloadTests {
    private let builder: RecordBuilder
    private let paths: [DocumentPath]

    init() throws {
        builder = try RecordBuilder()
        paths = try ["c/a", "名前/é", "c/a/d/__id7__"].map { try DocumentPath($0) }
    }

    private func contents(_ random: inout SeededRandom) throws -> MutationPayload {
        let versions = (0..<3).map { _ in SnapshotVersion(random.timestamp()) }
        let mutations = try (0..<random.below(5)).map { _ in
            try random.mutation(at: random.pick(paths), versions: versions)
        }
        var bases: [Mutation] = []
        for mutation in mutations {
            let document = WorkingDocument(
                state: .found(try Record(random.map(depth: 1))), version: .none)
            if let base = try mutation.base(over: document, using: builder) { bases.append(base) }
        }
        return MutationPayload(baseMutations: bases, mutations: mutations)
    }

    @Test("a batch survives encoding and decoding, records byte for byte")
    func roundTrips() throws {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let contents = try contents(&random)
            let payload = try contents.bytes(using: builder)
            let read = try MutationPayload(payload)
            #expect(read == contents, "\(random)")
            #expect(try read.bytes(using: builder) == payload, "\(random)")
            #expect(
                read.mutations.map { $0.record?.bytes }
                    == contents.mutations.map { $0.record?.bytes })
        }
    }

    @Test("a verification survives encoding and decoding, although no queue accepts it")
    func verify() throws {
        let contents = MutationPayload(mutations: [Mutation(.verify, at: paths[0])])
        #expect(try MutationPayload(contents.bytes(using: builder)) == contents)
    }

    @Test("a set of a small document has a payload of known bytes")
    func golden() throws {
        let record = try Record(["a": 1])
        let payload = try MutationPayload(mutations: [Mutation(.set(record), at: paths[0])])
            .bytes(using: builder)
        #expect(
            payload == [1, 0, 1, 0, 3] + Array("c/a".utf8) + [UInt8(record.byteCount)]
                + record.bytes)
    }

    @Test("damaged payloads are damage or other batches, never a crash")
    func damage() throws {
        var random = SeededRandom()
        var refused = 0
        for _ in 0..<20_000 {
            var payload = try contents(&random).bytes(using: builder)
            switch random.below(4) {
            case 0: payload.removeLast(random.below(payload.count) + 1)
            case 1: payload.append(UInt8(random.below(256)))
            default:
                for _ in 0...random.below(3) {
                    payload[random.below(payload.count)] = UInt8(random.below(256))
                }
            }
            do {
                _ = try MutationPayload(payload)
            } catch {
                refused += 1
                #expect(error.kind == .dataLoss, "\(random)")
            }
        }
        #expect(refused > 1000)
        #expect(throws: LarderError.self) { try MutationPayload([]) }
        #expect(throws: LarderError.self) { try MutationPayload([2, 0, 0]) }
        #expect(throws: LarderError.self) {
            try MutationPayload([1, 0] + [UInt8](repeating: 0xff, count: 12))
        }
    }

    @Test("an overlay's change survives encoding and decoding, and damaged payloads are refused")
    func overlays() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let mask = FieldMask(
                try (0..<random.below(4)).map { _ in try random.nestedFieldPath() })
            let operation = random.pick(
                [.set, .delete, .patch(mask)] as [OverlayMutation.Operation])
            let overlay = OverlayMutation(
                operation, dependsOnContents: random.oneIn(2),
                history: random.oneIn(3) ? nil : try history(&random))
            var payload = overlay.payload
            #expect(try OverlayMutation(payload: payload) == overlay, "\(random)")
            payload[random.below(payload.count)] = UInt8(random.below(256))
            if random.oneIn(2) { payload.removeLast() }
            do {
                _ = try OverlayMutation(payload: payload)
            } catch {
                #expect(error.kind == .dataLoss, "\(random)")
            }
        }
    }

    /// The history of a document with random pending writes.
    private func history(_ random: inout SeededRandom) throws -> OverlayHistory? {
        let builder = try RecordBuilder()
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        var document = WorkingDocument(nil)
        for id in 1...Int64(1 + random.below(4)) {
            let path = try random.nestedFieldPath()
            let mutation = Mutation(
                .patch(try Record([:]), FieldMask([])), at: try DocumentPath("c/d"),
                precondition: random.oneIn(4) ? .updateTime(SnapshotVersion(time)) : .none,
                transforms: [FieldTransform(path, .serverTimestamp)])
            try document.apply(mutation, localWriteTime: time, batchID: id, using: builder)
            if random.oneIn(3) { document.history?.lastRebaseID = id }
        }
        return document.history
    }
}
