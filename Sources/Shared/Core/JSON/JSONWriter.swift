/// Appends JSON to bytes: compact, on one line, in UTF-8, with only the necessary escapes.
package enum JSONWriter {
    /// Appends a value.
    ///
    /// Reading the text gives an equal value, except that doubles that are not finite become null.
    package static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: append(word: "null", to: &bytes)
        case .boolean(let flag): append(flag, to: &bytes)
        case .integer(let integer): append(integer, to: &bytes)
        case .double(let double): append(double, to: &bytes)
        case .string(let string): append(string, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in members {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(word: StaticString, to bytes: inout [UInt8]) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    package static func append(raw text: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: text.utf8)
    }

    package static func append(_ flag: Bool, to bytes: inout [UInt8]) {
        append(word: flag ? "true" : "false", to: &bytes)
    }

    // MARK: Strings

    package static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        string.withUTF8Bytes { text in
            var start = 0
            while true {
                let end = JSONText.plainText(text, from: start).end
                if end > start {
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[start..<end]))
                }
                guard end < text.count else { break }
                appendEscape(text[end], to: &bytes)
                start = end + 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            append(word: byte < 0x10 ? "u000" : "u001", to: &bytes)
            let digit = byte & 15
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        default: bytes.append(byte)
        }
    }

    // MARK: Numbers

    package static func append(_ integer: Int64, to bytes: inout [UInt8]) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        append(integer.magnitude, minimumDigits: 1, to: &bytes)
    }

    /// Appends the shortest notation that reads back as the double, always with a point or an
    /// exponent; null for one that is not finite, which JSON cannot express.
    package static func append(_ double: Double, to bytes: inout [UInt8]) {
        guard double.isFinite else { return append(word: "null", to: &bytes) }
        let magnitude = double.magnitude
        let millionths = (magnitude * 1e6).rounded()
        // A decimal number of at most 15 digits that reads back as the double is the only one, so
        // it is the shortest. Six digits of fraction cover most that people write.
        guard magnitude == 0 || magnitude >= 1e-3, magnitude < 1e9, millionths / 1e6 == magnitude
        else { return append(raw: double.description, to: &bytes) }
        if double.sign == .minus { bytes.append(UInt8(ascii: "-")) }
        let (whole, rest) = UInt64(millionths).quotientAndRemainder(dividingBy: 1_000_000)
        append(whole, minimumDigits: 1, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        var (fraction, digits) = (rest, 6)
        while digits > 1 && fraction % 10 == 0 { (fraction, digits) = (fraction / 10, digits - 1) }
        append(fraction, minimumDigits: digits, to: &bytes)
    }

    /// Appends decimal digits, with zeros in front up to a count.
    private static func append(
        _ number: UInt64, minimumDigits: Int, to bytes: inout [UInt8]
    ) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var (start, rest) = (20, number)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0 || start > 20 - minimumDigits
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[start..<20]))
        }
    }
}
