import Foundation

extension String {
    /// The order of both texts by UTF-16 code units, without normalisation: below, equal to or
    /// above 0.
    ///
    /// UTF-8 has the order of code points, which differs where a surrogate pair meets a code unit
    /// from U+E000 on.
    func utf16Order(to other: String) -> Int {
        withUTF8Bytes { left in
            other.withUTF8Bytes { right in
                let common = Swift.min(left.count, right.count)
                guard common > 0, let l = left.baseAddress, let r = right.baseAddress,
                    memcmp(l, r, common) != 0
                else { return left.count - right.count }
                var offset = 0
                while left[offset] == right[offset] { offset += 1 }
                return Int(left[offset].utf16Rank) - Int(right[offset].utf16Rank)
            }
        }
    }
}

extension UInt8 {
    /// A byte of UTF-8 changed so that byte order is the order of UTF-16 code units: the first
    /// bytes of U+E000 to U+FFFF move above those of supplementary characters.
    var utf16Rank: UInt8 {
        guard self >= 0xee else { return self }
        return self < 0xf0 ? self + 5 : self - 2
    }
}
