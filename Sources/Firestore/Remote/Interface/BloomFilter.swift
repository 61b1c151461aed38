import Foundation
package import LarderModel

/// A set of texts that may take some others for its own, in few bits a text.
///
/// A backend sends one to say which documents of a target a client may keep: what the filter
/// does not contain is gone.
package struct BloomFilter: Sendable {
    /// The parts that a message carries.
    package let bits: BloomFilterBits
    private let bitCount: UInt64

    /// Above this a filter is not believed: each bit more halves the errors, which no one needs
    /// so often, and each costs time on every look-up.
    private static let maxHashCount = 1024

    /// Checks a filter that a backend sent.
    ///
    /// - Throws: `invalidArgument` for a padding outside 0...7 or without bits, or a hash count
    ///   below 0, of 0 where there are bits, or above 1,024.
    package init(_ bits: BloomFilterBits) throws(LarderError) {
        guard (0...7).contains(bits.padding), bits.padding == 0 || !bits.bitmap.isEmpty else {
            throw .invalidArgument(
                "a bloom filter of \(bits.bitmap.count) bytes with a padding of \(bits.padding)")
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

    /// Makes a filter of texts, as small as it can be for a rate of errors.
    ///
    /// - Parameters:
    ///   - keys: the texts.
    ///   - falsePositiveRate: the part of other texts that the filter takes for its own; taken
    ///     for 10⁻⁹ or 1/2 where it is outside of those.
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

    /// Whether there are no bits, so that it says nothing.
    package var isEmpty: Bool { bitCount == 0 }

    /// Whether a text is in the set, or taken to be; false for every text when there are no bits.
    ///
    /// - Parameters:
    ///   - key: the text.
    ///   - beginning: the hash of what precedes the text, where that is the same for many.
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

    /// Where one of the bits of a text lies.
    private static func bit(
        _ number: Int, of digest: (low: UInt64, high: UInt64), _ bitCount: UInt64
    ) -> (byte: Int, mask: UInt8) {
        let bit = (digest.low &+ UInt64(number) &* digest.high) % bitCount
        return (Int(bit / 8), 1 << (bit % 8))
    }
}
