import Foundation

// The closures are specialised here; a generic method of another module would not be.

extension String {
    /// The order of both texts by UTF-16 code units, without normalisation: below, equal to or
    /// above 0.
    ///
    /// UTF-8 has the order of code points, which differs where a surrogate pair meets a code unit
    /// from U+E000 on.
    package func utf16Order(to other: String) -> Int {
        withUTF8Buffer { left in other.withUTF8Buffer { left.utf16Order(to: $0) } }
    }

    /// True if both texts are the same bytes.
    func isSameText(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withUTF8Buffer { left in
            other.withUTF8Buffer { right in
                guard let l = left.baseAddress, let r = right.baseAddress else { return true }
                return memcmp(l, r, left.count) == 0
            }
        }
    }

    /// Gives the bytes to a closure, without copying those of text that is contiguous.
    @inline(__always)
    func withUTF8Buffer<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        var text = self
        return text.withUTF8(body)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// ``Swift/String/utf16Order(to:)`` of texts in UTF-8.
    @inline(__always)
    func utf16Order(to other: Self) -> Int {
        guard let l = baseAddress, let r = other.baseAddress else { return count - other.count }
        let common = Swift.min(count, other.count)
        var offset = 0
        while offset < common, l[offset] == r[offset] { offset &+= 1 }
        if offset == common { return count - other.count }
        return Int(l[offset].utf16Rank) - Int(r[offset].utf16Rank)
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
