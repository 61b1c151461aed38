/// Text as expressions make it.
enum RuleText {
    /// A number as JavaScript writes it.
    static func text(of number: Double) -> String {
        if let integer = Int64(exactly: number) { return String(integer) }
        guard number.isFinite else {
            return number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"
        }
        let (digits, exponent) = shortestDigits(of: number.magnitude)
        return (number < 0 ? "-" : "") + text(digits, exponent)
    }

    /// The shortest digits that read back as a positive number, which is 0.DIGITS times a power of
    /// ten, and its exponent.
    private static func shortestDigits(of number: Double) -> (digits: String, exponent: Int) {
        let parts = number.description.split(separator: "e")
        let mantissa = (parts.first ?? "").split(separator: ".", omittingEmptySubsequences: false)
        let (whole, fraction) = (mantissa.first ?? "", mantissa.count > 1 ? mantissa[1] : "")
        let exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + whole.count
        let all = whole + (fraction == "0" ? "" : fraction)
        let zeros = all.prefix { $0 == "0" }.count
        var digits = all.dropFirst(zeros)
        while digits.last == "0" { digits.removeLast() }
        return (String(digits), exponent - zeros)
    }

    private static func text(_ digits: String, _ exponent: Int) -> String {
        let zeros = String(repeating: "0", count: abs(exponent - digits.count))
        switch exponent {
        case digits.count...21: return digits + zeros
        case 1...21: return digits.prefix(exponent) + "." + digits.dropFirst(exponent)
        case -5...0: return "0." + String(repeating: "0", count: -exponent) + digits
        default:
            let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
            let sign = exponent > 0 ? "+" : "-"
            return digits.prefix(1) + fraction + "e" + sign + String(abs(exponent - 1))
        }
    }
}

/// A search for the occurrences of a text in another, from its beginning on.
struct TextSearch {
    private let part: String.UTF8View
    private let text: String.UTF8View
    private var offset = 0

    init(for part: String, in text: String) {
        var (part, text) = (part, text)
        part.makeContiguousUTF8()
        text.makeContiguousUTF8()
        (self.part, self.text) = (part.utf8, text.utf8)
    }

    /// The offset of the next occurrence, which begins where the last one ended or later; nil if
    /// there is none, or if no steps are left.
    ///
    /// - Parameter steps: the bytes to compare that are left; negative at the end if there were too
    ///   few.
    mutating func next(_ steps: inout Int) -> Int? {
        let found = text.withContiguousStorageIfAvailable { text in
            part.withContiguousStorageIfAvailable { part in
                Self.find(part, in: text, from: offset, &steps)
            }
        }
        guard case .some(.some(.some(let start))) = found else { return nil }
        offset = start + part.count
        return start
    }

    private static func find(
        _ part: UnsafeBufferPointer<UInt8>, in text: UnsafeBufferPointer<UInt8>, from start: Int,
        _ steps: inout Int
    ) -> Int? {
        var start = start
        while start + part.count <= text.count {
            var length = 0
            while length < part.count, text[start + length] == part[length] { length += 1 }
            steps -= length + 1
            if steps < 0 { return nil }
            if length == part.count { return start }
            start += 1
        }
        return nil
    }
}
