import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Push ids")
struct PushIDGeneratorTests {
    /// Gives the largest numbers, for random parts that overflow at once.
    private struct Largest: RandomNumberGenerator {
        func next() -> UInt64 { .max }
    }

    @Test("an id is 8 characters of time and 12 random ones")
    func format() {
        let generator = PushIDGenerator(random: SeededRandom())
        let id = generator.next(at: 1_760_000_000_000).text
        #expect(id.utf8.count == 20)
        let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
        let time = id.prefix(8).reduce(0) { $0 * 64 + (alphabet.firstIndex(of: $1) ?? -1) }
        #expect(time == 1_760_000_000_000)
        #expect(id.allSatisfy { alphabet.contains($0) })
    }

    @Test("ids ascend while the clock runs, stands still or steps back")
    func ascending() {
        var random = SeededRandom()
        let generator = PushIDGenerator(random: SeededRandom(seed: random.next()))
        var now: Int64 = 1_760_000_000_000
        var last = generator.next(at: now)
        for _ in 0..<2000 {
            now += Int64(random.below(5)) - 2
            let id = generator.next(at: now)
            #expect(last < id, "\(random)")
            last = id
        }
    }

    @Test("within a millisecond the random part counts up, and carries into the time")
    func overflow() {
        let generator = PushIDGenerator(random: Largest())
        #expect(generator.next(at: 64).text == "------0-zzzzzzzzzzzz")
        #expect(generator.next(at: 64).text == "------00zzzzzzzzzzzz")
        #expect(generator.next(at: 64).text == "------01zzzzzzzzzzzz")
        #expect(generator.next(at: 67).text == "------02zzzzzzzzzzzz")
    }
}
