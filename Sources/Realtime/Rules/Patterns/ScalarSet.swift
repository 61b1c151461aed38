/// A set of characters, as ranges of their numbers.
struct ScalarSet: Sendable {
    /// The ranges in order; none touches another.
    private var ranges: [ClosedRange<UInt32>] = []
    private var isInverted: Bool

    /// The characters of some ranges, or all others.
    init(_ ranges: [ClosedRange<UInt32>], isInverted: Bool = false) {
        self.isInverted = isInverted
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound &+ 1 {
                let end = max(last.upperBound, range.upperBound)
                self.ranges[self.ranges.count - 1] = last.lowerBound...end
            } else {
                self.ranges.append(range)
            }
        }
    }

    /// Complexity: logarithmic in the count of ranges.
    func contains(_ scalar: Unicode.Scalar, ignoresCase: Bool) -> Bool {
        var isFound = isInRange(scalar)
        if ignoresCase, !isFound {
            isFound = isInRange(scalar.lowercased) || isInRange(scalar.uppercased)
        }
        return isFound != isInverted
    }

    private func isInRange(_ scalar: Unicode.Scalar) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(scalar.value)
    }
}

extension ScalarSet {
    /// The ranges of the set that a letter after a backslash names; nil for none.
    static func ranges(named letter: Unicode.Scalar) -> [ClosedRange<UInt32>]? {
        switch letter {
        case "d": digits
        case "w": words
        case "s": spaces
        case "D": complement(of: digits)
        case "W": complement(of: words)
        case "S": complement(of: spaces)
        default: nil
        }
    }

    private static let digits: [ClosedRange<UInt32>] = [0x30...0x39]
    private static let words: [ClosedRange<UInt32>] = [
        0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A,
    ]
    private static let spaces: [ClosedRange<UInt32>] = [0x09...0x0D, 0x20...0x20]

    /// All characters outside of ranges that are in order.
    private static func complement(
        of ranges: [ClosedRange<UInt32>]
    ) -> [ClosedRange<UInt32>] {
        var (result, next): ([ClosedRange<UInt32>], UInt32) = ([], 0)
        for range in ranges {
            if range.lowerBound > next { result.append(next...(range.lowerBound - 1)) }
            next = range.upperBound + 1
        }
        return result + [next...0x10FFFF]
    }
}

extension Unicode.Scalar {
    /// The character's lowercase form, if that is one character; otherwise the character.
    var lowercased: Unicode.Scalar {
        if isASCII { return ("A"..."Z").contains(self) ? Self(UInt8(value) | 0x20) : self }
        let mapped = properties.lowercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first ?? self : self
    }

    /// The character's uppercase form, if that is one character; otherwise the character.
    var uppercased: Unicode.Scalar {
        if isASCII { return ("a"..."z").contains(self) ? Self(UInt8(value) & 0x5F) : self }
        let mapped = properties.uppercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first ?? self : self
    }
}
