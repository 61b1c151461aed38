import Foundation
package import LarderModel

/// A set of strings with false positives, in few bits per string.
///
/// A backend sends one to name the documents of a target that are unchanged: documents outside the
/// filter have left the target.
package struct BloomFilter: Sendable {
    package let bits: BloomFilterBits
    private let bitCount: UInt64

    /// The limit for received filters: every bit halves the false positives, so that no filter
    /// needs this many, and costs time on each lookup.
    private static let maxHashCount = 1024

    /// Validates a received filter.
    ///
    /// - Throws: `invalidArgument` for a padding outside 0...7 or without bits, or a hash count
    ///   below 0, above 1,024, or of 0 with bits.
    package init(_ bits: BloomFilterBits) throws(LarderError) {
        guard (0...7).contains(bits.padding), bits.padding == 0 || !bits.bitmap.isEmpty else {
            throw .invalidArgument(
                "a bloom filter of \(bits.bitmap.count) bytes with a padding of \(bits.padding) bits"
            )
        }
        guard (0...Self.maxHashCount).contains(bits.hashCount),
            bits.hashCount > 0 || bits.bitmap.isEmpty
        else {
            throw .invalidArgument("a bloom filter with a hash count of \(bits.hashCount)")
        }
        self.init(checked: bits)
    }

    private init(checked bits: BloomFilterBits) {
        self.bits = bits
        bitCount = UInt64(bits.bitmap.count) * 8 - UInt64(bits.padding)
    }

    /// Creates the smallest filter for a false-positive rate.
    ///
    /// - Parameters:
    ///   - keys: the elements.
    ///   - falsePositiveRate: clamped to 10⁻⁹...1/2.
    package init(keys: some Collection<String>, falsePositiveRate: Double) {
        let rate = falsePositiveRate > 1e-9 ? min(falsePositiveRate, 0.5) : 1e-9
        let bitsOfKey = -log(rate) / (M_LN2 * M_LN2)
        let bitCount = UInt64((Double(keys.count) * bitsOfKey).rounded(.up))
        let byteCount = (bitCount + 7) / 8
        var bits = BloomFilterBits(
            bitmap: [UInt8](repeating: 0, count: Int(byteCount)),
            padding: Int(byteCount * 8 - bitCount),
            hashCount: bitCount == 0 ? 0 : Int((bitsOfKey * M_LN2).rounded()))
        for key in keys {
            let digest = MD5(key).digest
            for number in 0..<bits.hashCount {
                let bit = Self.bit(number, of: digest, bitCount)
                bits.bitmap[bit.byte] |= bit.mask
            }
        }
        self.init(checked: bits)
    }

    package var isEmpty: Bool { bitCount == 0 }

    /// Whether a string is in the set, with false positives; false for every string if there are no
    /// bits.
    ///
    /// - Parameters:
    ///   - beginning: the hash state of a common prefix that precedes the key.
    package func contains(_ key: String, after beginning: MD5 = MD5()) -> Bool {
        guard bitCount > 0 else { return false }
        var hash = beginning
        hash.update(key)
        let digest = hash.digest
        for number in 0..<bits.hashCount {
            let bit = Self.bit(number, of: digest, bitCount)
            if bits.bitmap[bit.byte] & bit.mask == 0 { return false }
        }
        return true
    }

    /// The position of one of a key's bits.
    private static func bit(
        _ number: Int, of digest: (low: UInt64, high: UInt64), _ bitCount: UInt64
    ) -> (byte: Int, mask: UInt8) {
        let bit = (digest.low &+ UInt64(number) &* digest.high) % bitCount
        return (Int(bit / 8), 1 << (bit % 8))
    }
}
