import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The bloom filter")
struct BloomFilterTests {
    private func filter(_ bitmap: [UInt8], padding: Int = 0, hashCount: Int) throws -> BloomFilter {
        try BloomFilter(BloomFilterBits(bitmap: bitmap, padding: padding, hashCount: hashCount))
    }

    @Test(
        "What no filter has is refused, with the reason",
        arguments: [
            (BloomFilterBits(bitmap: [1], padding: -1, hashCount: 1), "padding of -1"),
            (BloomFilterBits(bitmap: [1], padding: 8, hashCount: 1), "padding of 8"),
            (BloomFilterBits(bitmap: [], padding: 1, hashCount: 0), "padding of 1"),
            (BloomFilterBits(bitmap: [1], padding: 0, hashCount: -1), "hash count of -1"),
            (BloomFilterBits(bitmap: [1], padding: 0, hashCount: 0), "hash count of 0"),
            (BloomFilterBits(bitmap: [], padding: 0, hashCount: -1), "hash count of -1"),
            (BloomFilterBits(bitmap: [1], padding: 0, hashCount: .max), "hash count of"),
            (BloomFilterBits(bitmap: [], padding: .min, hashCount: .min), "padding of"),
        ])
    func invalid(_ bits: BloomFilterBits, _ reason: String) {
        #expect {
            try BloomFilter(bits)
        } throws: { error in
            let error = error as? LarderError
            return error?.kind == .invalidArgument && error?.message.contains(reason) == true
        }
    }

    @Test("A filter without bits contains nothing", arguments: [0, 1, 5])
    func withoutBits(_ hashCount: Int) throws {
        let filter = try filter([], hashCount: hashCount)
        #expect(filter.isEmpty)
        #expect(!filter.contains(""))
        #expect(!filter.contains("a"))
    }

    @Test("Bits lie where the digest says")
    func places() throws {
        let digest = MD5("abc").digest
        for bitCount in [5 as UInt64, 13, 64, 999] {
            let (bytes, padding) = (Int(bitCount + 7) / 8, Int((8 - bitCount % 8) % 8))
            for hashCount in [1, 3, 10] {
                var bitmap = [UInt8](repeating: 0, count: bytes)
                var places: Set<UInt64> = []
                for number in 0..<UInt64(hashCount) {
                    places.insert((digest.low &+ number &* digest.high) % bitCount)
                }
                for place in places { bitmap[Int(place / 8)] |= 1 << (place % 8) }
                #expect(
                    try filter(bitmap, padding: padding, hashCount: hashCount).contains("abc"))
                for place in places {
                    var missing = bitmap
                    missing[Int(place / 8)] &= ~(1 << (place % 8))
                    #expect(
                        try !filter(missing, padding: padding, hashCount: hashCount)
                            .contains("abc"))
                }
            }
        }
    }

    @Test("The bits of padding are never looked at")
    func padding() throws {
        for number in 0..<100 {
            #expect(try !filter([0b1110_0000], padding: 3, hashCount: 1).contains("\(number)"))
            #expect(try filter([0b0001_1111], padding: 3, hashCount: 1).contains("\(number)"))
        }
    }

    @Test(
        "A filter contains its keys, and of others about as many as was asked for",
        arguments: [(50, 0.01), (500, 0.1), (500, 0.01), (5000, 0.0001)])
    func errorRate(_ count: Int, _ rate: Double) throws {
        let names = (0..<2 * count + 2000).map { "projects/p/databases/d/documents/rooms/\($0)" }
        let made = BloomFilter(keys: names[..<count], falsePositiveRate: rate)
        let read = try BloomFilter(made.bits)
        for name in names[..<count] { #expect(read.contains(name)) }
        let others = names[count...]
        let errors = others.filter { read.contains($0) }.count
        // The names are always the same, and so is the number of errors.
        #expect(Double(errors) <= Double(others.count) * rate * 1.5 + 2)
    }

    @Test("The rate costs as many bits as theory says")
    func size() {
        let keys = (0..<1000).map(String.init)
        let bits = BloomFilter(keys: keys, falsePositiveRate: 0.01).bits
        #expect(bits.bitmap.count * 8 - bits.padding == 9586)
        #expect(bits.hashCount == 7)
    }

    @Test("Keys that do not exist and rates that make no sense still make a filter")
    func oddities() throws {
        let none = BloomFilter(keys: [], falsePositiveRate: 0.01)
        #expect(none.isEmpty)
        #expect(try BloomFilter(none.bits).isEmpty)
        for rate in [0, -1, 1, 2, Double.nan, .infinity, -.infinity] {
            let filter = BloomFilter(keys: ["a", "é"], falsePositiveRate: rate)
            #expect(try BloomFilter(filter.bits).contains("a"))
            #expect(filter.contains("é"))
        }
    }

    @Test("A key is its beginning and its end")
    func beginnings() {
        let names = (0..<100).map { "projects/p/databases/(default)/documents/é/\($0)" }
        let filter = BloomFilter(keys: names, falsePositiveRate: 0.01)
        let beginning = MD5("projects/p/databases/(default)/documents/")
        for number in 0..<300 {
            #expect(
                filter.contains("é/\(number)", after: beginning)
                    == filter.contains("projects/p/databases/(default)/documents/é/\(number)"))
        }
    }

    @Test("Any bits are refused or looked up in, and never more")
    func anyBits() {
        var random = SeededRandom()
        var acceptedCount = 0
        for _ in 0..<3000 {
            let bits = BloomFilterBits(
                bitmap: (0..<random.below(40)).map { _ in
                    UInt8(truncatingIfNeeded: random.next() | random.next())
                },
                padding: random.oneIn(20)
                    ? Int(truncatingIfNeeded: random.next()) : random.below(8),
                hashCount: random.oneIn(20)
                    ? Int(truncatingIfNeeded: random.next()) : random.below(30))
            guard let filter = try? BloomFilter(bits) else { continue }
            acceptedCount += 1
            let key = String.random(ofLength: random.below(100), &random)
            #expect(filter.contains(key) == expected(bits, key), "\(random)")
        }
        #expect(acceptedCount > 1000)
    }

    /// The rule for one key, said as plainly as it can be.
    private func expected(_ bits: BloomFilterBits, _ key: String) -> Bool {
        let bitCount = bits.bitmap.count * 8 - bits.padding
        let all = (0..<max(bitCount, 0)).map { bits.bitmap[$0 / 8] >> ($0 % 8) & 1 == 1 }
        let (low, high) = MD5(key).digest
        return !all.isEmpty
            && (0..<bits.hashCount).allSatisfy { number in
                all[Int((low &+ UInt64(number) &* high) % UInt64(all.count))]
            }
    }
}
