import LarderRealtimeModel
import Testing

@Suite("Numbers")
struct LeafNumberTests {
    @Test("equal numbers are one value, however they were written; negative zero is another")
    func equality() throws {
        #expect(LeafNumber(1.0) == LeafNumber(1 as Int64))
        #expect(LeafNumber(1e18)?.integer == 1_000_000_000_000_000_000)
        #expect(LeafNumber(-0.0) != LeafNumber(0 as Int64))
        #expect(LeafNumber(-0.0)?.double.sign == .minus)
        #expect(LeafNumber(1 << 53 + 1 as Int64) != LeafNumber(Double(1 << 53)))
        #expect(LeafNumber(0x1p63)?.integer == nil)
        #expect(LeafNumber(.nan) == nil && LeafNumber(.infinity) == nil)
    }

    @Test("the order is numeric, and exact where doubles are not")
    func order() throws {
        let ordered = [
            try #require(LeafNumber(-1e300)), LeafNumber(Int64.min), LeafNumber(-2 as Int64),
            try #require(LeafNumber(-1.5)), LeafNumber(0 as Int64), try #require(LeafNumber(0.5)),
            LeafNumber(1 as Int64), LeafNumber(1 << 53 as Int64), LeafNumber(1 << 53 + 1 as Int64),
            LeafNumber(Int64.max - 1), LeafNumber(Int64.max), try #require(LeafNumber(0x1p63)),
            try #require(LeafNumber(1e300)),
        ]
        for (index, left) in ordered.enumerated() {
            for (other, right) in ordered.enumerated() {
                #expect(left.order(to: right).signum() == (index - other).signum())
            }
        }
        #expect(try #require(LeafNumber(-0.0)).order(to: LeafNumber(0 as Int64)) == 0)
    }

    @Test("sums are integers while they fit, and stay finite")
    func sums() throws {
        let one = LeafNumber(1 as Int64)
        #expect(one.adding(LeafNumber(2 as Int64)).integer == 3)
        #expect(LeafNumber(Int64.max).adding(one).double == 0x1p63)
        #expect(one.adding(try #require(LeafNumber(0.5))).double == 1.5)
        let largest = try #require(LeafNumber(Double.greatestFiniteMagnitude))
        #expect(largest.adding(largest) == largest)
    }
}
