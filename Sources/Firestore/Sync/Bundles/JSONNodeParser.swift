import LarderModel

/// Reads a JSON text (RFC 8259, strictly) of any origin.
///
/// Why not Foundation: it keeps the members of an object under Swift's strings, for which two
/// spellings of one letter are the same name; Firestore tells them apart.
struct JSONNodeParser {
    /// How deep arrays and objects may be nested, as a bound for recursion: values and filters
    /// take three levels each.
    private static let maxDepth = 200

    private var rest: Slice<UnsafeRawBufferPointer>
    private var depth = 0

    /// Reads a text.
    ///
    /// - Throws: `invalidArgument` for anything else.
    static func parse(_ text: UnsafeRawBufferPointer) throws(LarderError) -> JSONNode {
        var parser = JSONNodeParser(rest: text[...])
        let node = try parser.value()
        guard parser.next() == nil else { throw failure("more behind its end") }
        return node
    }

    private static func failure(_ what: String) -> LarderError {
        .malformedBundle("a JSON text with \(what)")
    }

    // MARK: Values

    private mutating func value() throws(LarderError) -> JSONNode {
        switch next() {
        case UInt8(ascii: "{"): return .object(try members())
        case UInt8(ascii: "["): return .array(try elements())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(let byte) where byte == UInt8(ascii: "-") || Self.isDigit(byte):
            return try number()
        default: throw Self.failure("no value where one is due")
        }
    }

    private mutating func members() throws(LarderError) -> [JSONNode.Member] {
        try enter()
        var members: [JSONNode.Member] = []
        if next() != UInt8(ascii: "}") {
            repeat {
                guard next() == UInt8(ascii: "\"") else {
                    throw Self.failure("an object without a name")
                }
                let name = try string()
                guard take(":") else { throw Self.failure("a name without a value") }
                members.append((name, try value()))
            } while take(",")
        }
        guard take("}") else { throw Self.failure("an object without end") }
        depth -= 1
        return members
    }

    private mutating func elements() throws(LarderError) -> [JSONNode] {
        try enter()
        var elements: [JSONNode] = []
        if next() != UInt8(ascii: "]") {
            repeat { elements.append(try value()) } while take(",")
        }
        guard take("]") else { throw Self.failure("an array without end") }
        depth -= 1
        return elements
    }

    private mutating func enter() throws(LarderError) {
        depth += 1
        guard depth <= Self.maxDepth else { throw Self.failure("too many levels") }
        rest.removeFirst()
    }

    private mutating func word(_ word: String, _ node: JSONNode) throws(LarderError) -> JSONNode {
        guard rest.starts(with: word.utf8) else {
            throw Self.failure("no value where one is due")
        }
        rest.removeFirst(word.utf8.count)
        return node
    }

    private mutating func number() throws(LarderError) -> JSONNode {
        let start = rest
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let isZero = rest.first == UInt8(ascii: "0")
        let digits = try digits()
        guard !isZero || digits == 1 else { throw Self.failure("a number that begins with 0") }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            _ = try self.digits()
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
                rest.removeFirst()
            }
            _ = try self.digits()
        }
        return .number(String(decoding: start[..<rest.startIndex], as: UTF8.self))
    }

    /// Passes over digits, one at least; how many.
    private mutating func digits() throws(LarderError) -> Int {
        let end =
            rest.firstIndex { !Self.isDigit($0) } ?? rest.endIndex
        let count = end - rest.startIndex
        guard count > 0 else { throw Self.failure("a number without digits") }
        rest = rest[end...]
        return count
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    // MARK: Text

    private mutating func string() throws(LarderError) -> String {
        rest.removeFirst()
        var escaped: [UInt8]?
        while true {
            let end = rest.firstIndex {
                $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20
            }
            guard let end, rest[end] >= 0x20 else { throw Self.failure("a text without end") }
            let piece = rest[..<end]
            let isEnd = rest[end] == UInt8(ascii: "\"")
            rest = rest[(end + 1)...]
            if isEnd, escaped == nil { return try Self.string(piece) }
            escaped = (escaped ?? []) + piece
            if isEnd { return try Self.string(escaped ?? []) }
            escaped?.append(contentsOf: try escape())
        }
    }

    private static func string(_ bytes: some Collection<UInt8>) throws(LarderError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw failure("a text that is not UTF-8")
        }
        return text
    }

    /// What stands behind a backslash.
    private mutating func escape() throws(LarderError) -> [UInt8] {
        switch rest.popFirst() {
        case .some(let byte) where "\"\\/".utf8.contains(byte): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try scalar())).utf8)
        default: throw Self.failure("an escape that there is not")
        }
    }

    /// A character by its four digits, or by those of a pair.
    private mutating func scalar() throws(LarderError) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if UTF16.isLeadSurrogate(first), rest.starts(with: "\\u".utf8) {
            rest.removeFirst(2)
            let second = try codeUnit()
            if UTF16.isTrailSurrogate(second) {
                return UTF16.decode(UTF16.EncodedScalar([first, second]))
            }
        }
        throw Self.failure("half a character")
    }

    private mutating func codeUnit() throws(LarderError) -> UInt16 {
        let digits = rest.prefix(4)
        // A sign would do for the initialiser, but is no digit.
        guard digits.count == 4, digits.first != UInt8(ascii: "+"),
            digits.first != UInt8(ascii: "-"),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw Self.failure("an escape without four digits") }
        rest.removeFirst(4)
        return unit
    }

    // MARK: Position

    /// The next byte that is no blank, which stays.
    private mutating func next() -> UInt8? {
        while let byte = rest.first {
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
            rest.removeFirst()
        }
        return nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next() == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
