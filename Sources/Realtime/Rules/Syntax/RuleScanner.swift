/// A token of an expression.
enum RuleToken: Equatable {
    case end
    case name(String)
    case number(Double)
    case string(String)
    case symbol(RuleSymbol)

    /// The token in words, for messages.
    var text: String {
        switch self {
        case .end: "the end of the expression"
        case .name(let name): "'\(name)'"
        case .number: "a number"
        case .string: "a string"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        }
    }
}

/// The operators and brackets of expressions.
enum RuleSymbol: String {
    case identical = "==="
    case notIdentical = "!=="
    case equal = "=="
    case notEqual = "!="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case and = "&&"
    case or = "||"
    case less = "<"
    case greater = ">"
    case not = "!"
    case question = "?"
    case colon = ":"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case openParenthesis = "("
    case closeParenthesis = ")"
    case openBracket = "["
    case closeBracket = "]"
    case comma = ","
    case dot = "."
}

/// The tokens of an expression, one after the other, without its comments.
struct RuleScanner {
    private let bytes: [UInt8]
    /// The offset after the last token.
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var byte: UInt8? { byte(at: offset) }

    private func byte(at offset: Int) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Skips space and comments; returns the offset of the next token.
    mutating func skipSpace() throws(RulesFailure) -> Int {
        while let byte {
            switch byte {
            case 0x20, 0x09...0x0D: offset += 1
            case UInt8(ascii: "/") where self.byte(at: offset + 1) == UInt8(ascii: "/"):
                while let byte = self.byte, byte != 0x0A { offset += 1 }
            case UInt8(ascii: "/") where self.byte(at: offset + 1) == UInt8(ascii: "*"):
                try skipComment()
            default: return offset
            }
        }
        return offset
    }

    private mutating func skipComment() throws(RulesFailure) {
        let start = offset
        offset += 2
        while byte != UInt8(ascii: "*") || byte(at: offset + 1) != UInt8(ascii: "/") {
            guard byte != nil else { throw RulesFailure(start, "the comment has no end") }
            offset += 1
        }
        offset += 2
    }

    /// Reads the next token.
    mutating func next() throws(RulesFailure) -> RuleToken {
        let start = try skipSpace()
        guard let byte else { return .end }
        if byte.isLetter || byte == UInt8(ascii: "$") { return .name(readName()) }
        if byte.isDigit || byte == UInt8(ascii: ".") && self.byte(at: start + 1)?.isDigit == true {
            return .number(try readNumber())
        }
        if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
            return .string(try readString(quote: byte))
        }
        for length in [3, 2, 1] where start + length <= bytes.count {
            let text = String(decoding: bytes[start..<start + length], as: UTF8.self)
            guard let symbol = RuleSymbol(rawValue: text) else { continue }
            offset += length
            return .symbol(symbol)
        }
        throw RulesFailure(
            start,
            byte == UInt8(ascii: "=")
                ? "rules assign nothing: compare with '=='"
                : "'\(String(decoding: bytes[start..<start + 1], as: UTF8.self))' is no operator")
    }

    private mutating func readName() -> String {
        let start = offset
        while let byte, byte.isLetter || byte.isDigit || byte == UInt8(ascii: "$") { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func readNumber() throws(RulesFailure) -> Double {
        let start = offset
        while let byte, byte.isDigit || byte == UInt8(ascii: ".") { offset += 1 }
        if let letter = byte, letter | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { offset += 1 }
            while let byte, byte.isDigit { offset += 1 }
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        guard byte?.isLetter != true, let number = Double("0" + text), number.isFinite else {
            throw RulesFailure(start, "'\(text)' is no number")
        }
        return number
    }

    // MARK: Strings

    private mutating func readString(quote: UInt8) throws(RulesFailure) -> String {
        let start = offset
        var text: [UInt8] = []
        offset += 1
        while let byte {
            offset += 1
            if byte == quote { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &text)
            } else {
                text.append(byte)
            }
        }
        throw RulesFailure(start, "the string has no end")
    }

    /// Reads an escape after its backslash.
    private mutating func readEscape(into text: inout [UInt8]) throws(RulesFailure) {
        let start = offset - 1
        guard let byte else { throw RulesFailure(start, "the string has no end") }
        offset += 1
        switch byte {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "v"): text.append(0x0B)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "x"): text += try readScalar(digits: 2, escapedAt: start)
        case UInt8(ascii: "u"): text += try readScalar(digits: 4, escapedAt: start)
        default:
            guard !byte.isDigit, !byte.isLetter || byte >= 0x80 else {
                throw RulesFailure(start, "an escape that strings do not have")
            }
            text.append(byte)
        }
    }

    /// Reads the digits of an escape, and those of a second one for a surrogate pair.
    private mutating func readScalar(
        digits count: Int, escapedAt start: Int
    ) throws(RulesFailure) -> [UInt8] {
        let unit = try readCodeUnit(digits: count, escapedAt: start)
        if let scalar = Unicode.Scalar(unit) { return Array(String(Character(scalar)).utf8) }
        if UTF16.isLeadSurrogate(unit), bytes[offset...].starts(with: "\\u".utf8) {
            offset += 2
            let second = try readCodeUnit(digits: count, escapedAt: start)
            if UTF16.isTrailSurrogate(second) {
                let scalar = UTF16.decode(UTF16.EncodedScalar([unit, second]))
                return Array(String(Character(scalar)).utf8)
            }
        }
        throw RulesFailure(start, "half of a surrogate pair")
    }

    private mutating func readCodeUnit(
        digits count: Int, escapedAt start: Int
    ) throws(RulesFailure) -> UInt16 {
        let digits = bytes[offset..<min(offset + count, bytes.count)]
        guard digits.count == count, digits.allSatisfy(\.isHexadecimal),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else {
            throw RulesFailure(start, "an escape of \(count) hexadecimal digits is no character")
        }
        offset += count
        return unit
    }

    // MARK: Patterns

    /// Reads a regular expression whose first slash was the last token.
    mutating func readPattern() throws(RulesFailure) -> RulePattern {
        let start = offset
        var isInSet = false
        while let byte {
            switch byte {
            case UInt8(ascii: "\\"): offset += 1
            case UInt8(ascii: "["): isInSet = true
            case UInt8(ascii: "]"): isInSet = false
            case UInt8(ascii: "/") where !isInSet:
                let source = Array(bytes[start..<offset])
                offset += 1
                let flags = readName()
                guard flags.isEmpty || flags == "i" else {
                    throw RulesFailure(offset - flags.utf8.count, "the only flag is 'i'")
                }
                do throws(RulesFailure) {
                    return try RulePattern(source, ignoresCase: flags == "i")
                } catch {
                    throw RulesFailure(start + error.offset, error.message)
                }
            default: break
            }
            offset += 1
        }
        throw RulesFailure(start - 1, "the regular expression has no end")
    }
}
