/// A reader of rules files: JSON with comments, trailing commas, and line breaks inside strings.
///
/// Other readers of JSON report no places inside of strings, where most of a rules file is.
struct RulesReader {
    /// The deepest nesting of objects and arrays.
    static let maximumDepth = 100

    private let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a file of one value.
    static func read(_ bytes: [UInt8]) throws(RulesFailure) -> RulesValue {
        var reader = RulesReader(bytes)
        try reader.skipSpace()
        let value = try reader.readValue()
        try reader.skipSpace()
        guard reader.byte == nil else { throw reader.failure("more text after the rules") }
        return value
    }

    private var byte: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private func failure(_ message: String) -> RulesFailure { RulesFailure(offset, message) }

    // MARK: Space

    private mutating func skipSpace() throws(RulesFailure) {
        while let byte {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            case UInt8(ascii: "/"): try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(RulesFailure) {
        switch offset + 1 < bytes.count ? bytes[offset + 1] : 0 {
        case UInt8(ascii: "/"):
            while let byte, byte != 0x0A { offset += 1 }
        case UInt8(ascii: "*"):
            let start = offset
            offset += 2
            while byte != UInt8(ascii: "*") || offset + 1 >= bytes.count
                || bytes[offset + 1] != UInt8(ascii: "/")
            {
                guard offset < bytes.count else {
                    throw RulesFailure(start, "the comment has no end")
                }
                offset += 1
            }
            offset += 2
        default: throw failure("a single '/' begins no comment")
        }
    }

    // MARK: Values

    private mutating func readValue() throws(RulesFailure) -> RulesValue {
        let start = offset
        switch byte {
        case UInt8(ascii: "\""): return RulesValue(kind: .string(try readString()), offset: start)
        case UInt8(ascii: "{"): return RulesValue(kind: try readObject(), offset: start)
        case UInt8(ascii: "["): return RulesValue(kind: try readArray(), offset: start)
        case nil: throw failure("the text ends where a value is expected")
        default: return RulesValue(kind: try readWord(), offset: start)
        }
    }

    private mutating func readWord() throws(RulesFailure) -> RulesValue.Kind {
        let start = offset
        while let byte, byte.isWordByte { offset += 1 }
        let word = String(decoding: bytes[start..<offset], as: UTF8.self)
        switch word {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "null": return .other
        default:
            if !word.isEmpty, Double(word) != nil { return .other }
            throw RulesFailure(start, "expected a JSON value")
        }
    }

    private mutating func open() throws(RulesFailure) {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw failure("more than \(Self.maximumDepth) levels of objects and arrays")
        }
        offset += 1
    }

    private mutating func close() {
        depth -= 1
        offset += 1
    }

    private mutating func readArray() throws(RulesFailure) -> RulesValue.Kind {
        var elements: [RulesValue] = []
        try open()
        try skipSpace()
        while byte != UInt8(ascii: "]") {
            if !elements.isEmpty {
                try readComma(orEnd: "]")
                if byte == UInt8(ascii: "]") { break }
            }
            elements.append(try readValue())
            try skipSpace()
        }
        close()
        return .array(elements)
    }

    private mutating func readObject() throws(RulesFailure) -> RulesValue.Kind {
        var members: [RulesMember] = []
        var names = Set<[UInt8]>()
        try open()
        try skipSpace()
        while byte != UInt8(ascii: "}") {
            if !members.isEmpty {
                try readComma(orEnd: "}")
                if byte == UInt8(ascii: "}") { break }
            }
            guard byte == UInt8(ascii: "\"") else { throw failure("expected a name in quotes") }
            let name = try readString()
            guard names.insert(name.bytes).inserted else {
                throw RulesFailure(name.offset, "the name '\(name.string)' occurs twice")
            }
            try skipSpace()
            guard byte == UInt8(ascii: ":") else { throw failure("expected ':' after a name") }
            offset += 1
            try skipSpace()
            members.append(RulesMember(name: name, value: try readValue()))
            try skipSpace()
        }
        close()
        return .object(members)
    }

    private mutating func readComma(orEnd end: String) throws(RulesFailure) {
        guard byte == UInt8(ascii: ",") else { throw failure("expected ',' or '\(end)'") }
        offset += 1
        try skipSpace()
    }

    // MARK: Strings

    private mutating func readString() throws(RulesFailure) -> SourceText {
        var text = SourceText(quoteAt: offset)
        offset += 1
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return text
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            case 0x09, 0x0A, 0x0D, 0x20...:
                text.append(byte)
                offset += 1
            default: throw failure("a control character in a string")
            }
        }
        throw RulesFailure(text.offset, "the string has no end")
    }

    private mutating func readEscape(into text: inout SourceText) throws(RulesFailure) {
        let start = offset
        offset += 1
        guard let byte else { throw failure("the text ends inside a string") }
        offset += 1
        let escaped: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): escaped = byte
        case UInt8(ascii: "b"): escaped = 0x08
        case UInt8(ascii: "f"): escaped = 0x0C
        case UInt8(ascii: "n"): escaped = 0x0A
        case UInt8(ascii: "r"): escaped = 0x0D
        case UInt8(ascii: "t"): escaped = 0x09
        case UInt8(ascii: "u"):
            let scalar = try readScalar(escapedAt: start)
            return text.append(String(Character(scalar)).utf8, endingAt: offset)
        default: throw RulesFailure(start, "an escape that JSON does not have")
        }
        text.append(CollectionOfOne(escaped), endingAt: offset)
    }

    /// Reads four hexadecimal digits, and those of a second escape for a surrogate pair.
    private mutating func readScalar(escapedAt start: Int) throws(RulesFailure) -> Unicode.Scalar {
        let first = try readCodeUnit(escapedAt: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        if offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
            bytes[offset + 1] == UInt8(ascii: "u")
        {
            offset += 2
            let second = try readCodeUnit(escapedAt: start)
            if UTF16.isLeadSurrogate(first), UTF16.isTrailSurrogate(second) {
                return UTF16.decode(UTF16.EncodedScalar([first, second]))
            }
        }
        throw RulesFailure(start, "half of a surrogate pair")
    }

    private mutating func readCodeUnit(escapedAt start: Int) throws(RulesFailure) -> UInt16 {
        let digits = bytes[offset..<min(offset + 4, bytes.count)]
        guard digits.count == 4, digits.allSatisfy(\.isHexadecimal),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw RulesFailure(start, "expected four hexadecimal digits") }
        offset += 4
        return unit
    }
}

extension UInt8 {
    var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

    var isHexadecimal: Bool { isDigit || (self | 0x20) &- UInt8(ascii: "a") < 6 }

    /// True for letters, underscores, and all that is not ASCII.
    var isLetter: Bool {
        (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "_") || self >= 0x80
    }

    /// True for what JSON's words and numbers are made of.
    fileprivate var isWordByte: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "+")
            || self == UInt8(ascii: ".")
    }
}
