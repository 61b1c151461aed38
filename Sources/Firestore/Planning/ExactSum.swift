/// The sum of integers and doubles, exact until it is rounded once.
///
/// A superaccumulator: a fixed-point number in two's complement that is wide enough for the sum of
/// 2^63 doubles of any size, in words of 64 bits. Bit 0 is 2^-1074, the smallest double.
struct ExactSum: Sendable {
    /// 2,176 bits: 1,074 fractional ones, 1,024 for the largest double, 63 for the number of
    /// summands, a sign, and some to spare.
    private static let wordCount = 34
    /// The exponent of bit 0.
    private static let minExponent = -1074

    /// The words, lowest first; none before the first double.
    private var words: [UInt64] = []
    private var integers: Int128 = 0
    private(set) var integerCount: Int64 = 0
    private(set) var doubleCount: Int64 = 0
    private var nanCount: Int64 = 0
    private var positiveInfinityCount: Int64 = 0
    private var negativeInfinityCount: Int64 = 0

    /// The number of summands.
    var count: Int64 { integerCount + doubleCount }

    mutating func add(_ number: Int64) {
        integers += Int128(number)
        integerCount += 1
    }

    /// Allocates once.
    mutating func add(_ number: Double) {
        doubleCount += 1
        guard number.isFinite else {
            if number.isNaN {
                nanCount += 1
            } else if number > 0 {
                positiveInfinityCount += 1
            } else {
                negativeInfinityCount += 1
            }
            return
        }
        guard number != 0 else { return }
        if words.isEmpty { words = Array(repeating: 0, count: Self.wordCount) }
        let exponent = Int(number.exponentBitPattern)
        // Subnormal numbers have no implicit bit, and the exponent of the smallest normal ones.
        let significand = number.significandBitPattern | (exponent > 0 ? 1 << 52 : 0)
        Self.add(significand, at: max(exponent - 1, 0), isNegative: number < 0, to: &words)
    }

    /// The sum if all summands are integers and it is in range; otherwise nil.
    var integer: Int64? { doubleCount == 0 ? Int64(exactly: integers) : nil }

    /// The sum as the nearest double, infinite only if the exact sum is out of range.
    var double: Double { special ?? rounded(dividedBy: 1) }

    /// The double nearest to the sum divided by the number of summands, infinite where the sum is, as
    /// Firestore's service has it; nil without summands.
    var average: Double? {
        guard count > 0 else { return nil }
        let sum = double
        return sum.isFinite ? rounded(dividedBy: UInt64(count)) : sum
    }

    /// The sum with summands that are not finite.
    private var special: Double? {
        if nanCount > 0 || positiveInfinityCount > 0 && negativeInfinityCount > 0 { return .nan }
        if positiveInfinityCount > 0 { return .infinity }
        return negativeInfinityCount > 0 ? -.infinity : nil
    }

    /// Adds or subtracts `magnitude` at a bit position.
    private static func add(
        _ magnitude: UInt64, at bit: Int, isNegative: Bool, to words: inout [UInt64]
    ) {
        var position = bit / 64
        let shift = UInt64(bit % 64)
        // Shifts by 64 are 0 in Swift.
        let parts = (magnitude << shift, magnitude >> (64 - shift))
        var carry = false
        for part in [parts.0, parts.1] {
            carry = add(part, carry, isNegative, to: &words[position])
            position += 1
        }
        while carry, position < words.count {
            carry = add(0, carry, isNegative, to: &words[position])
            position += 1
        }
    }

    /// Adds or subtracts one word with a carry or borrow; returns the next one.
    private static func add(
        _ part: UInt64, _ carry: Bool, _ isNegative: Bool, to word: inout UInt64
    ) -> Bool {
        let first =
            isNegative
            ? word.subtractingReportingOverflow(part)
            : word.addingReportingOverflow(part)
        let second =
            isNegative
            ? first.partialValue.subtractingReportingOverflow(carry ? 1 : 0)
            : first.partialValue.addingReportingOverflow(carry ? 1 : 0)
        word = second.partialValue
        return first.overflow || second.overflow
    }

    /// All summands, and whether they are negated to be positive.
    private var magnitude: (words: [UInt64], isNegative: Bool) {
        var total = words.isEmpty ? Array(repeating: 0, count: Self.wordCount) : words
        let whole = integers.magnitude
        for (position, part) in [UInt64(truncatingIfNeeded: whole), UInt64(whole >> 64)]
            .enumerated()
        {
            Self.add(
                part, at: 64 * position - Self.minExponent, isNegative: integers < 0, to: &total)
        }
        guard let last = total.last, last >> 63 == 1 else { return (total, false) }
        var carry = true
        for position in total.indices {
            let (sum, overflow) = (~total[position]).addingReportingOverflow(carry ? 1 : 0)
            (total[position], carry) = (sum, overflow)
        }
        return (total, true)
    }

    /// The quotient, rounded once: to the nearest double, ties to the even one.
    private func rounded(dividedBy divisor: UInt64) -> Double {
        var (quotient, isNegative) = magnitude
        var remainder: UInt64 = 0
        for position in quotient.indices.reversed() {
            (quotient[position], remainder) = divisor.dividingFullWidth(
                (remainder, quotient[position]))
        }
        guard let top = quotient.lastIndex(where: { $0 != 0 }) else {
            // Below the smallest double: half of it is a tie with 0.
            let isAbove = remainder > divisor - remainder
            return isAbove
                ? (isNegative ? -Double.leastNonzeroMagnitude : .leastNonzeroMagnitude) : 0
        }
        let width = 64 * top + 64 - quotient[top].leadingZeroBitCount
        // The number of bits that a double has no place for.
        let shift = max(width - 53, 0)
        var significand = Self.bits(of: quotient, from: shift)
        let (isHalf, isMore): (Bool, Bool)
        if shift == 0 {
            isMore = remainder > divisor - remainder
            isHalf = !isMore && remainder != 0 && remainder == divisor - remainder
        } else {
            let half = Self.bit(shift - 1, of: quotient)
            let rest = remainder != 0 || Self.hasBits(below: shift - 1, in: quotient)
            (isHalf, isMore) = (half && !rest, half && rest)
        }
        if isMore || isHalf && significand & 1 == 1 { significand += 1 }
        return Double(
            sign: isNegative ? .minus : .plus, exponent: shift + Self.minExponent,
            significand: Double(significand))
    }

    /// The bits from a position on; at most 53 are set there.
    private static func bits(of words: [UInt64], from position: Int) -> UInt64 {
        let (index, shift) = (position / 64, UInt64(position % 64))
        let next = index + 1 < words.count ? words[index + 1] : 0
        return words[index] >> shift | next << (64 - shift)
    }

    private static func bit(_ position: Int, of words: [UInt64]) -> Bool {
        words[position / 64] >> UInt64(position % 64) & 1 == 1
    }

    private static func hasBits(below position: Int, in words: [UInt64]) -> Bool {
        let (index, shift) = (position / 64, UInt64(position % 64))
        return words[..<index].contains { $0 != 0 } || words[index] << (64 - shift) != 0
    }
}
