import LarderModel
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("The watch aggregator: existence filters")
struct WatchAggregatorFilterTests {
    private typealias Stream = WatchAggregatorTests.Stream

    /// A filter of documents, and of others by accident only.
    private func bits(_ keys: String...) -> BloomFilterBits {
        BloomFilter(
            keys: keys.map { "projects/p/databases/(default)/documents/\($0)" },
            falsePositiveRate: 1e-6
        ).bits
    }

    private func filter(
        _ stream: inout Stream, _ id: Int32, _ count: Int, _ bits: BloomFilterBits? = nil
    ) -> LarderError? {
        stream.aggregator.handle(
            .existenceFilter(targetID: id, count: count, unchanged: bits), knowing: stream.world)
    }

    @Test("A count that agrees, with what is not in an event yet, changes nothing")
    func agrees() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b"])
        #expect(filter(&stream, 2, 2) == nil)
        stream.tell(try .found("c/c", 1), [2])
        stream.tell(try .found("c/a", 1), [2])
        #expect(filter(&stream, 2, 3, bits()) == nil)
        try stream.remove("c/b", [2])
        #expect(filter(&stream, 2, 2) == nil)
        let event = stream.event()
        #expect(event.mismatches.isEmpty)
        #expect(
            event.targets == [
                2: RemoteTargetChange(
                    added: try paths("c/c"), modified: try paths("c/a"),
                    removed: try paths("c/b"))
            ])
    }

    @Test("A count that does not agree empties the target, which is no longer current")
    func mismatches() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b"])
        stream.tell(.current, [2], token: [1])
        stream.tell(try .found("c/c", 1), [2])
        #expect(filter(&stream, 2, 1) == nil)
        let event = stream.event()
        #expect(event.mismatches == [2: .existenceFilterMismatch])
        #expect(event.targets == [2: RemoteTargetChange(removed: try paths("c/a", "c/b"))])
        #expect(stream.event().mismatches.isEmpty)
    }

    @Test("A bloom filter shows which documents have left; their state is unknown")
    func removes() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b", "c/c"])
        stream.tell(.current, [2], token: [1])
        stream.tell(try .found("c/d", 1), [2])
        #expect(filter(&stream, 2, 2, bits("c/a", "c/d")) == nil)
        let event = stream.event()
        #expect(event.mismatches.isEmpty)
        #expect(
            event.targets == [
                2: RemoteTargetChange(
                    resumeToken: [1], isCurrent: true, added: try paths("c/d"),
                    removed: try paths("c/b", "c/c"))
            ])
        #expect(Set(event.documents.keys) == (try paths("c/d")))
    }

    @Test("A document that had left already is not counted twice")
    func countsOnce() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b", "c/c"])
        try stream.remove("c/b", [2])
        #expect(filter(&stream, 2, 1, bits("c/a")) == nil)
        let event = stream.event()
        #expect(event.mismatches.isEmpty)
        #expect(event.targets[2]?.removed == (try paths("c/b", "c/c")))
    }

    @Test("A bloom filter that does not make the counts agree is said to be the reason")
    func falsePositive() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b"])
        #expect(filter(&stream, 2, 1, bits("c/a", "c/b")) == nil)
        #expect(stream.event().mismatches == [2: .existenceFilterMismatchBloom])
    }

    @Test("An empty bloom filter is ignored; an invalid one is ignored and reported")
    func unusable() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b"])
        #expect(filter(&stream, 2, 1, bits()) == nil)
        #expect(stream.event().mismatches == [2: .existenceFilterMismatch])
        let invalid = BloomFilterBits(bitmap: [1], padding: 8, hashCount: 1)
        try stream.watch(4, "c", knowing: ["c/a", "c/b"])
        #expect(filter(&stream, 4, 1, invalid)?.kind == .invalidArgument)
        #expect(stream.event().mismatches == [4: .existenceFilterMismatch])
        // Where the counts agree it is not used.
        try stream.watch(6, "c", knowing: ["c/a", "c/b"])
        #expect(filter(&stream, 6, 2, invalid) == nil)
    }

    @Test("A document that is counted as none is unknown, and as one it stays")
    func countsDocument() throws {
        var stream = Stream()
        try stream.watch(2, "c/a", knowing: ["c/a"])
        #expect(filter(&stream, 2, 1) == nil)
        #expect(stream.event().documents.isEmpty)
        for count in [2, -1, .max] {
            #expect(filter(&stream, 2, count)?.kind == .invalidArgument)
        }
        stream.tell(.current, [2])
        #expect(filter(&stream, 2, 0) == nil)
        let event = stream.event()
        #expect(event.documents == [try DocumentPath("c/a"): try .absent("c/a", 0)])
        #expect(event.targets[2]?.removed == (try paths("c/a")))
        #expect(event.mismatches.isEmpty)
    }

    @Test(
        "Counts that no target has are a mismatch, and nothing worse", arguments: [-1, .min, .max])
    func absurdCounts(_ count: Int) throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a"])
        #expect(filter(&stream, 2, count, bits("c/a")) == nil)
        #expect(stream.event().mismatches == [2: .existenceFilterMismatchBloom])
    }
}
