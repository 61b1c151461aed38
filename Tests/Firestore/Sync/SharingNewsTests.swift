import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderSync

@Suite("What clients of a store tell each other")
struct SharingNewsTests {
    private func path(_ random: inout SeededRandom) -> DocumentPath {
        DocumentPath(unchecked: "c\(random.below(3))/d\(random.below(100))")
    }

    private func news(_ random: inout SeededRandom) -> StoreNews {
        var news = StoreNews()
        news.user = UserID(random.pick(["", "alice", "böb"]))
        if random.oneIn(10) {
            news.documents = nil
        } else {
            news.note((0..<random.below(5)).map { _ in path(&random) })
        }
        for _ in 0..<random.below(4) {
            let states: [StoreNews.Batch.State] = [
                .pending, .acknowledged, .cancelled, .kept,
                .rejected(LarderError(.permissionDenied, "no")),
            ]
            news.batches.append(StoreNews.Batch(Int64(random.below(1_000)), random.pick(states)))
        }
        for _ in 0..<random.below(3) {
            news.targets[Int32(random.below(100))] = StoreNews.Target(
                isCurrent: random.oneIn(2), added: [path(&random)], removed: [path(&random)],
                isReset: random.oneIn(2))
        }
        if random.oneIn(3) { news.rejections[4] = LarderError(.unavailable, "gone") }
        if random.oneIn(3) { news.network = network(&random) }
        news.begunTargets = Set((0..<random.below(3)).map { _ in Int32(random.below(1 << 30)) })
        news.endedTargets = Set((0..<random.below(3)).map { Int32.max - Int32($0) })
        if random.oneIn(3) { news.cancellations = [7, 9] }
        news.hasLeft = random.oneIn(4)
        news.freesLease = random.oneIn(4)
        news.takesLease = random.oneIn(4)
        // Whose batches they are is told with batches alone.
        if news.batches.isEmpty && news.cancellations.isEmpty { news.user = .unauthenticated }
        return news
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
            let news = news(&random)
            let read = StoreNews(payload: try news.payload())
            #expect(read == news, "\(random)")
        }
    }

    @Test("Bytes that are no news are none, and nothing worse")
    func damage() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            var bytes = try news(&random).payload()
            if random.oneIn(2) {
                bytes[random.below(bytes.count)] = UInt8(random.below(256))
            } else {
                bytes.removeLast(1 + random.below(bytes.count))
            }
            _ = StoreNews(payload: bytes)
        }
        #expect(StoreNews(payload: []) == nil)
        let other: MapValue = ["version": .integer(2)]
        #expect(StoreNews(payload: try Record(other).bytes) == nil)
    }

    @Test("More documents than can be listed are any")
    func manyDocuments() {
        var news = StoreNews()
        let paths = (0..<StoreNews.maxDocuments).map { DocumentPath(unchecked: "c/\($0)") }
        news.note(paths)
        #expect(news.documents?.count == paths.count)
        news.note([DocumentPath(unchecked: "c/x")])
        #expect(news.documents == nil)
        #expect(!news.isEmpty)
    }

    @Test("Whose batches they are is no news without batches")
    func emptiness() {
        var news = StoreNews()
        news.user = UserID("alice")
        #expect(news.isEmpty)
        news.batches = [StoreNews.Batch(1, .pending)]
        #expect(!news.isEmpty)
    }
}
