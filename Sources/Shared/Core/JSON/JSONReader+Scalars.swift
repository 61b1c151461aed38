extension JSONReader {
    // MARK: Numbers

    /// Reads a number, which must begin at the next byte.
    package mutating func readNumber() throws(JSONError) -> JSONNumber {
        let start = offset
        let isNegative = byte == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        // The value of all digits; right as long as there are no more than 19.
        var digits: UInt64 = 0
        let firstDigit = offset
        var digitCount = try readDigits(&digits)
        if text[firstDigit] == UInt8(ascii: "0") && digitCount > 1 {
            throw JSONError(offset: firstDigit, reason: "a number begins with 0")
        }
        var (isInteger, exponent) = (true, 0)
        if byte == UInt8(ascii: ".") {
            isInteger = false
            offset += 1
            exponent = -(try readDigits(&digits))
            digitCount -= exponent
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isInteger = false
            offset += 1
            exponent += try readExponent()
        }
        if digitCount <= 19 {
            if isInteger {
                if !isNegative, let integer = Int64(exactly: digits) { return .integer(integer) }
                if isNegative && digits == 0 { return .negativeZero }
                if isNegative && digits <= Int64.min.magnitude {
                    return .integer(Int64(truncatingIfNeeded: 0 &- digits))
                }
            }
            // Both operands are exact, so that the result is rounded once: the nearest double.
            if digits <= 1 << 53 && abs(exponent) <= 22 {
                let power = Self.powersOfTen[abs(exponent)]
                let magnitude = exponent < 0 ? Double(digits) / power : Double(digits) * power
                return .double(isNegative ? -magnitude : magnitude)
            }
        }
        let notation = String(decoding: text[start..<offset], as: UTF8.self)
        guard let number = Double(notation), number.isFinite else {
            throw JSONError(
                offset: start, reason: "the number \(notation.prefix(40)) is too large")
        }
        return .double(number)
    }

    /// Adds digits to the end of a decimal number, modulo 2^64; how many there are, at least one.
    @inline(__always)
    private mutating func readDigits(_ sum: inout UInt64) throws(JSONError) -> Int {
        let start = offset
        while offset < text.count {
            let digit = text[offset] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            sum = sum &* 10 &+ UInt64(digit)
            offset += 1
        }
        guard offset > start else { throw failure("expected a digit") }
        return offset - start
    }

    /// The exponent after its letter; one that is beyond all doubles is cut to another such.
    private mutating func readExponent() throws(JSONError) -> Int {
        let isNegative = byte == UInt8(ascii: "-")
        if isNegative || byte == UInt8(ascii: "+") { offset += 1 }
        var exponent: UInt64 = 0
        let count = try readDigits(&exponent)
        // Leading zeros only send a small exponent to the exact conversion of the whole text.
        let magnitude = count <= 9 ? Int(exponent) : 1_000_000_000
        return isNegative ? -magnitude : magnitude
    }

    /// The powers of ten that a double holds exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]

    // MARK: Strings

    /// Reads a string, which must begin at the next byte.
    package mutating func readString() throws(JSONError) -> String {
        guard byte == UInt8(ascii: "\"") else { throw failure("expected a string") }
        let start = offset + 1
        let isASCII: Bool
        (offset, isASCII) = JSONText.plainText(text, from: start)
        guard byte == UInt8(ascii: "\"") else { return try readEscapedString(from: start) }
        let content = UnsafeRawBufferPointer(rebasing: text[start..<offset])
        let string = try Self.string(content, isASCII: isASCII, at: start)
        offset += 1
        return string
    }

    /// Skips a string, which must begin at the next byte.
    mutating func skipString() throws(JSONError) {
        offset += 1
        while true {
            offset = JSONText.plainText(text, from: offset).end
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\\"): offset = min(offset + 2, text.count)
            case nil: throw failure("the text ends inside a string")
            default: throw failure("a control character in a string")
            }
        }
    }

    /// Continues at the first byte of a string that is not literal text: an escape or the end.
    private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
        var bytes = Array(UnsafeRawBufferPointer(rebasing: text[start..<offset]))
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in
                    try Self.string(UnsafeRawBufferPointer(bytes), isASCII: false, at: start)
                }
            case UInt8(ascii: "\\"):
                offset += 1
                try readEscape(into: &bytes)
            default:
                throw failure("a control character in a string")
            }
            let end = JSONText.plainText(text, from: offset).end
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[offset..<end]))
            offset = end
        }
        throw failure("the text ends inside a string")
    }

    /// The string of the bytes, which must be UTF-8.
    @inline(__always)
    private static func string(
        _ bytes: UnsafeRawBufferPointer, isASCII: Bool, at start: Int
    ) throws(JSONError) -> String {
        // Decoding repairs what is not UTF-8, so the bytes differ then. The initialiser that
        // validates is not specialised in the standard library, and takes several times as long.
        let string = String(decoding: bytes, as: UTF8.self)
        guard isASCII || string.utf8.count == bytes.count && string.utf8.byteOrder(to: bytes) == 0
        else { throw JSONError(offset: start, reason: "a string is not UTF-8") }
        return string
    }

    private mutating func readEscape(into bytes: inout [UInt8]) throws(JSONError) {
        guard let byte else { throw failure("the text ends inside a string") }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(byte)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            offset += 1
            bytes.append(contentsOf: try readEscapedScalar().utf8)
            return
        default: throw failure("an escape that JSON does not have")
        }
        offset += 1
    }

    /// Reads four hexadecimal digits, or those of a surrogate pair with `\u` between them.
    private mutating func readEscapedScalar() throws(JSONError) -> Unicode.Scalar {
        let start = offset
        let first = try readCodeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if UTF16.isLeadSurrogate(first), offset + 1 < text.count,
            text[offset] == UInt8(ascii: "\\"), text[offset + 1] == UInt8(ascii: "u")
        {
            offset += 2
            let second = try readCodeUnit()
            if UTF16.isTrailSurrogate(second) {
                return UTF16.decode(UTF16.EncodedScalar([first, second]))
            }
        }
        throw JSONError(offset: start, reason: "half of a surrogate pair")
    }

    private mutating func readCodeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte, let digit = JSONText.hexadecimalValue(of: byte) else {
                throw failure("expected four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }
}

/// Byte classes shared by the JSON reader and writer.
enum JSONText {
    /// The end of the literal bytes of a string that begin at `start`.
    ///
    /// That is the offset of a quote, a backslash or a control character, or the text's size.
    /// `isASCII` is true only if all bytes up to there are.
    @inline(__always)
    static func plainText(
        _ text: UnsafeRawBufferPointer, from start: Int
    ) -> (end: Int, isASCII: Bool) {
        var offset = start
        var seen: UInt64 = 0
        while offset &+ 8 <= text.count {
            let word = UInt64(
                littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            seen |= word
            let special = specialBytes(of: word)
            if special != 0 {
                return (offset &+ special.trailingZeroBitCount / 8, seen & highestBits == 0)
            }
            offset &+= 8
        }
        while offset < text.count, !isSpecial(text[offset]) {
            seen |= UInt64(text[offset])
            offset &+= 1
        }
        return (offset, seen & highestBits == 0)
    }

    private static var highestBits: UInt64 { 0x8080_8080_8080_8080 }

    @inline(__always)
    static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Sets the highest bit of the lowest byte of a word that is special.
    ///
    /// Higher bytes may be marked wrongly, by the borrow of a marked one.
    @inline(__always)
    private static func specialBytes(of word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        // A byte is below n where subtracting n borrows and its own highest bit is not set.
        let marks =
            (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes
            | (backslashes &- ones) & ~backslashes
        return marks & highestBits
    }

    static func hexadecimalValue(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
