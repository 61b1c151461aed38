import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("Changes that clients of a store share")
struct SharedChangeTests {
    private func path(_ random: inout SeededRandom) -> DocumentPath {
        DocumentPath(unchecked: "c\(random.below(3))/d\(random.below(100))")
    }

    private func change(_ random: inout SeededRandom) -> SharedChange {
        var change = SharedChange()
        change.user = UserID(random.pick(["", "alice", "böb"]))
        if random.oneIn(10) {
            change.documents = nil
        } else {
            change.note((0..<random.below(5)).map { _ in path(&random) })
        }
        for _ in 0..<random.below(4) {
            let states: [SharedChange.Batch.State] = [
                .pending, .acknowledged, .cancelled, .kept,
                .rejected(LarderError(.permissionDenied, "no")),
            ]
            change.batches.append(
                SharedChange.Batch(Int64(random.below(1_000)), random.pick(states)))
        }
        for _ in 0..<random.below(3) {
            change.targets[Int32(random.below(100))] = SharedChange.Target(
                isCurrent: random.oneIn(2), added: [path(&random)], removed: [path(&random)],
                isReset: random.oneIn(2))
        }
        if random.oneIn(3) { change.rejections[4] = LarderError(.unavailable, "gone") }
        if random.oneIn(3) { change.network = network(&random) }
        change.begunTargets = Set((0..<random.below(3)).map { _ in Int32(random.below(1 << 30)) })
        change.endedTargets = Set((0..<random.below(3)).map { Int32.max - Int32($0) })
        if random.oneIn(3) { change.cancellations = [7, 9] }
        change.hasLeft = random.oneIn(4)
        change.freesLease = random.oneIn(4)
        change.takesLease = random.oneIn(4)
        // The user is part of batches' changes alone.
        if change.batches.isEmpty && change.cancellations.isEmpty { change.user = .unauthenticated }
        return change
    }

    private func network(_ random: inout SeededRandom) -> NetworkState {
        NetworkState(
            random.pick([.unknown, .online, .offline]),
            random.pick([
                .notAsked, .connecting, .answered, .timedOut, .disabled([.user, .notPrimary]),
                .streamFailed(LarderError(.unavailable, "no route")),
            ]),
            listeners: random.pick([nil, .unknown, .online, .offline]),
            isSilent: random.oneIn(2))
    }

    @Test("News comes out as it went in")
    func roundTrip() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let change = change(&random)
            let read = SharedChange(payload: try change.payload())
            #expect(read == change, "\(random)")
        }
    }

    @Test("Bytes that are no change are none, and nothing worse")
    func damage() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            var bytes = try change(&random).payload()
            if random.oneIn(2) {
                bytes[random.below(bytes.count)] = UInt8(random.below(256))
            } else {
                bytes.removeLast(1 + random.below(bytes.count))
            }
            _ = SharedChange(payload: bytes)
        }
        #expect(SharedChange(payload: []) == nil)
        let other: MapValue = ["version": .integer(2)]
        #expect(SharedChange(payload: try Record(other).bytes) == nil)
    }

    @Test("More documents than can be listed are any")
    func manyDocuments() {
        var change = SharedChange()
        let paths = (0..<SharedChange.maxDocuments).map { DocumentPath(unchecked: "c/\($0)") }
        change.note(paths)
        #expect(change.documents?.count == paths.count)
        change.note([DocumentPath(unchecked: "c/x")])
        #expect(change.documents == nil)
        #expect(!change.isEmpty)
    }

    @Test("Whose batches they are is no change without batches")
    func emptiness() {
        var change = SharedChange()
        change.user = UserID("alice")
        #expect(change.isEmpty)
        change.batches = [SharedChange.Batch(1, .pending)]
        #expect(!change.isEmpty)
    }
}
