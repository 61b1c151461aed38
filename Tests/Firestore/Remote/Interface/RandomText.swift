import LarderTestSupport

extension String {
    /// So many characters, of one to four bytes each.
    static func random(ofLength count: Int, _ random: inout SeededRandom) -> String {
        String((0..<count).map { _ in random.pick(Array("abcxyz/09éλ漢🦊")) })
    }
}
