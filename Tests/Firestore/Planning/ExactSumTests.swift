import LarderModel
import LarderTestSupport
import Testing

@testable import LarderPlanning

@Suite("exact sums")
struct ExactSumTests {
    private let least = Double.leastNonzeroMagnitude

    private func sum(_ doubles: [Double], _ integers: [Int64] = []) -> ExactSum {
        var sum = ExactSum()
        for number in doubles { sum.add(number) }
        for number in integers { sum.add(number) }
        return sum
    }

    @Test("are rounded once, whatever cancels")
    func cancellation() {
        let (one, normal) = (Double(1), Double.leastNormalMagnitude)
        #expect(sum(Array(repeating: 0.1, count: 10)).double == 1)
        #expect(sum([1e308, 1e308, -1e308]).double == 1e308)
        #expect(sum([-1e308, 1e308, 1e308]).double == 1e308)
        #expect(sum([1e16, 1, -1e16]).double == 1)
        #expect(sum([1e100, 1, -1e100]).double == 1)
        #expect(sum([.greatestFiniteMagnitude, least, -.greatestFiniteMagnitude]).double == least)
        #expect(sum([0.1, 0.2, 0.3]).double == 0.6)
        #expect(sum([1, 0x1p-53]).double == 1)
        #expect(sum([1, 0x1p-53, 0x1p-106]).double == one.nextUp)
        #expect(sum([one.nextUp, 0x1p-53]).double == one.nextUp.nextUp)
        #expect(sum([least, least]).double == 2 * least)
        #expect(sum([-least, normal]).double == normal.nextDown)
    }

    @Test("overflow only if the exact result does")
    func overflow() {
        let most = Double.greatestFiniteMagnitude
        #expect(sum([1e308, 1e308]).double == .infinity)
        #expect(sum([-most, -most]).double == -.infinity)
        // The first number that is rounded up to infinity is half a place above.
        #expect(sum([most, most.ulp / 2]).double == .infinity)
        #expect(sum([most, (most.ulp / 2).nextDown]).double == most)
        #expect(sum([most, most]).average == .infinity)
        #expect(sum([-most, -most]).average == -.infinity)
        #expect(sum([most, most, -most]).average == most / 3)
        #expect(sum([1.7e308, 1.7e308, -1.7e308]).double == 1.7e308)
    }

    @Test("combine integers and doubles exactly")
    func mixed() {
        let odd = Int64(1 << 53) + 1
        #expect(sum([0.5], [odd]).double == 0x1p53 + 2)
        #expect(sum([-0x1p53], [odd]).double == 1)
        #expect(sum([1], [.max]).double == 0x1p63)
        #expect(sum([-1], [.max, 1]).double == 0x1p63)
        #expect(sum([-0x1p63], [.max]).double == -1)
        #expect(sum([0x1p63], [.min]).double == 0)
        #expect(sum([0.25], [.min, .min, .min]).double == -3 * 0x1p63)
    }

    @Test("of integers alone are integers in their range")
    func integers() {
        #expect(sum([], [.max, 1, -1]).integer == .max)
        #expect(sum([], [.max, 1]).integer == nil && sum([], [.max, 1]).double == 0x1p63)
        #expect(sum([], [.min, -1]).double == -0x1p63)
        #expect(sum([], [.max, .max, .max]).double == 3 * 0x1p63)
        #expect(sum([1], [1]).integer == nil)
        #expect(sum([]).integer == 0 && sum([]).average == nil)
    }

    @Test("of zeros are 0 without a sign, and keep NaN and infinities")
    func special() {
        #expect(sum([-0.0]).double.sign == .plus && sum([-0.0, -0.0]).average?.sign == .plus)
        #expect(sum([1, -1]).double.sign == .plus)
        #expect(sum([.infinity, 1], [1]).double == .infinity)
        #expect(sum([-.infinity]).average == -.infinity)
        #expect(sum([.infinity, -.infinity]).double.isNaN)
        #expect(sum([.nan, .infinity]).average?.isNaN == true)
    }

    @Test("averages are rounded once, too")
    func averages() {
        #expect(sum([0.1, 0.1, 0.1]).average == 0.1)
        #expect(sum([], [1, 1, 2]).average == 4.0 / 3)
        #expect(sum([least, 0]).average == 0)
        #expect(sum([least, least, least, 0]).average == least)
        #expect(sum([least, 2 * least]).average == 2 * least)
        #expect(sum([-least, -least, 0]).average == -least)
        #expect(sum([], [.max, .max, .max]).average == 0x1p63)
    }

    @Test("random sums are those of Shewchuk's partial sums; averages are the nearest doubles")
    func random() {
        let base = SeededRandom()
        var random = base
        for _ in 0..<400 {
            let range = random.pick([4, 60, 600])
            let numbers = (0..<random.below(12)).map { _ in
                let size = Double(Int64(random.below(1 << 53)) - (1 << 52))
                return Double(
                    sign: .plus, exponent: random.below(range) - range / 2, significand: size)
            }
            let exact = sum(numbers)
            #expect(exact.double == partialSum(numbers), "\(numbers), \(base)")
            if let first = numbers.first {
                let copies = sum(Array(repeating: first, count: 1 + random.below(50)))
                #expect(copies.average == first, "\(first), \(base)")
            }
            let integers = (0..<(1 + random.below(9))).map { _ in
                (1 << 62) + Int64(random.below(1 << 61))
            }
            // Above 2^53 doubles are integers, so that distances can be compared exactly.
            guard let average = sum([], integers).average else { continue }
            let (total, count) = (integers.reduce(Int128(0)) { $0 + Int128($1) }, integers.count)
            func distance(_ number: Double) -> UInt128 {
                (total - Int128(number) * Int128(count)).magnitude
            }
            #expect(distance(average) <= distance(average.nextUp), "\(integers), \(base)")
            #expect(distance(average) <= distance(average.nextDown), "\(integers), \(base)")
        }
    }

    /// Non-overlapping partial sums, added from the largest and rounded half to even.
    private func partialSum(_ numbers: [Double]) -> Double {
        var partials: [Double] = []
        for number in numbers {
            var (x, kept) = (number, [Double]())
            for var y in partials {
                if abs(x) < abs(y) { swap(&x, &y) }
                let high = x + y
                let low = y - (high - x)
                if low != 0 { kept.append(low) }
                x = high
            }
            partials = kept + [x]
        }
        guard var high = partials.popLast() else { return 0 }
        var low = 0.0
        while let next = partials.popLast() {
            let sum = high + next
            low = next - (sum - high)
            high = sum
            if low != 0 { break }
        }
        // Half a place: what is left decides.
        if low != 0, let rest = partials.last, (low < 0) == (rest < 0), rest != 0 {
            let doubled = low * 2
            if doubled == (high + doubled) - high { high += doubled }
        }
        return high + 0
    }
}
