import LarderModel

/// Reads one JSON text (RFC 8259, strictly) into a value.
///
/// Why not Foundation: its readers take the last of two equal keys without a word, tell neither
/// where a text is wrong nor, in `JSONDecoder`, 1 from 1.0, and take three times as long or more.
///
/// Numbers without fraction and exponent that fit 64 bits become integers, all others doubles.
/// ``TypedJSON`` says which objects stand for values that JSON has no notation for.
struct JSONReader {
    /// What to make of values that JSON has no notation for.
    struct Options {
        /// Strings in RFC 3339 become timestamps.
        var readsTimestamps = false
        /// Objects such as `{"$bytes": ...}` and geo points become what they stand for.
        var readsTypedForms = true
        /// A member of the document whose object is a map whatever it looks like.
        var plainMember: String?
    }

    /// A bound for the reader's recursion; documents are refused much earlier, at 20.
    static let maxDepth = 100

    private let text: UnsafeBufferPointer<UInt8>
    private let options: Options
    private var position = 0
    private var depth = 0

    private init(_ text: UnsafeBufferPointer<UInt8>, options: Options) {
        self.text = text
        self.options = options
    }

    /// The entries of a text that is one object, in their order, with names that may be double:
    /// whoever makes a map of them checks.
    static func readObject(
        _ text: UnsafeBufferPointer<UInt8>, options: Options
    ) throws(JSONFailure) -> [MapValue.Element] {
        var reader = JSONReader(text, options: options)
        reader.skipBlanks()
        guard reader.peek == UInt8(ascii: "{") else {
            throw reader.failure("a document is a JSON object, in braces")
        }
        let entries = try reader.readEntries(isPlain: true)
        try reader.expectEnd()
        return entries
    }

    /// The string that a text is, quotes included.
    static func readString(
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(JSONFailure) -> String {
        var reader = JSONReader(text, options: Options())
        reader.skipBlanks()
        guard reader.peek == UInt8(ascii: "\"") else { throw reader.failure("expected a string") }
        let string = try reader.readText()
        try reader.expectEnd()
        return string
    }

    /// The value that a text is.
    static func readValue(_ text: String) throws(JSONFailure) -> Value {
        try Array(text.utf8).withUnsafeBufferPointer { (bytes) throws(JSONFailure) in
            var reader = JSONReader(bytes, options: Options())
            reader.skipBlanks()
            let value = try reader.readValue()
            try reader.expectEnd()
            return value
        }
    }

    // MARK: Values

    private mutating func readValue() throws(JSONFailure) -> Value {
        switch peek {
        case UInt8(ascii: "\""):
            let string = try readText()
            if options.readsTimestamps, let time = Timestamp(rfc3339: string) {
                return .timestamp(time)
            }
            return .string(string)
        case UInt8(ascii: "{"):
            let start = position
            let entries = try readEntries(isPlain: false)
            return try value(of: entries, at: start)
        case UInt8(ascii: "["):
            return try readArray()
        case UInt8(ascii: "t"):
            try readWord("true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try readWord("false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try readWord("null")
            return .null
        case nil:
            throw failure("the text ends where a value is expected")
        case .some(let byte) where byte == UInt8(ascii: "-") || Self.isDigit(byte):
            return try readNumber()
        default:
            throw failure("expected a value")
        }
    }

    /// What an object stands for.
    private func value(
        of entries: [MapValue.Element], at start: Int
    ) throws(JSONFailure) -> Value {
        if options.readsTypedForms {
            do throws(TypedJSON.Failure) {
                if let typed = try TypedJSON.value(of: entries) { return typed }
            } catch {
                throw JSONFailure(offset: start, reason: error.reason)
            }
        }
        return .map(try Self.map(of: entries, at: start))
    }

    /// The map of an object's entries; no name may be there twice.
    static func map(
        of entries: [MapValue.Element], at offset: Int
    ) throws(JSONFailure) -> MapValue {
        let map = MapValue(entries)
        if map.count != entries.count {
            var seen: Set<[UInt8]> = []
            let name = entries.first { !seen.insert(Array($0.name.utf8)).inserted }?.name ?? ""
            throw JSONFailure(offset: offset, reason: "the name '\(name)' is there twice")
        }
        return map
    }

    /// Reads an object; `isPlain` where it is a map or a document whatever it looks like.
    private mutating func readEntries(
        isPlain: Bool
    ) throws(JSONFailure) -> [MapValue.Element] {
        try enter()
        var entries: [MapValue.Element] = []
        skipBlanks()
        if peek == UInt8(ascii: "}") {
            leave()
            return entries
        }
        while true {
            guard peek == UInt8(ascii: "\"") else {
                throw failure(
                    peek == nil ? "the text ends inside an object" : "expected a name in quotes")
            }
            let name = try readText()
            skipBlanks()
            guard peek == UInt8(ascii: ":") else { throw failure("expected ':' after a name") }
            position += 1
            skipBlanks()
            let isBrace = peek == UInt8(ascii: "{")
            if isBrace && depth == 1 && name == options.plainMember {
                let start = position
                let content = try readEntries(isPlain: true)
                entries.append((name, .map(try Self.map(of: content, at: start))))
                skipBlanks()
            } else if isBrace && options.readsTypedForms && !isPlain && entries.isEmpty
                && name == TypedJSON.map
            {
                let start = position
                let content = try readEntries(isPlain: true)
                skipBlanks()
                // Standing alone, "$map" says that its content is a map whatever it looks like.
                let isForm = peek == UInt8(ascii: "}")
                entries.append(
                    (
                        name,
                        isForm
                            ? .map(try Self.map(of: content, at: start))
                            : try value(of: content, at: start)
                    ))
            } else {
                entries.append((name, try readValue()))
                skipBlanks()
            }
            switch peek {
            case UInt8(ascii: ","):
                position += 1
                skipBlanks()
            case UInt8(ascii: "}"):
                leave()
                return entries
            case nil: throw failure("the text ends inside an object")
            default: throw failure("expected ',' or '}'")
            }
        }
    }

    private mutating func readArray() throws(JSONFailure) -> Value {
        try enter()
        var elements: [Value] = []
        skipBlanks()
        if peek == UInt8(ascii: "]") {
            leave()
            return .array(elements)
        }
        while true {
            elements.append(try readValue())
            skipBlanks()
            switch peek {
            case UInt8(ascii: ","):
                position += 1
                skipBlanks()
            case UInt8(ascii: "]"):
                leave()
                return .array(elements)
            case nil: throw failure("the text ends inside an array")
            default: throw failure("expected ',' or ']'")
            }
        }
    }

    // MARK: Words and numbers

    private mutating func readWord(_ word: StaticString) throws(JSONFailure) {
        let end = position + word.utf8CodeUnitCount
        for offset in 0..<word.utf8CodeUnitCount {
            guard position + offset < text.count,
                text[position + offset] == word.utf8Start[offset]
            else { throw failure("expected a value") }
        }
        position = end
    }

    private mutating func readNumber() throws(JSONFailure) -> Value {
        let start = position
        let isNegative = peek == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let firstDigit = position
        // Digits are summed up below zero, where one more number fits.
        var sum: Int64 = 0
        var fits = true
        while let digit = peekDigit {
            let (product, first) = sum.multipliedReportingOverflow(by: 10)
            let (next, second) = product.subtractingReportingOverflow(digit)
            if first || second { fits = false } else { sum = next }
            position += 1
        }
        guard position > firstDigit else { throw failure("expected a digit") }
        if text[firstDigit] == UInt8(ascii: "0") && position > firstDigit + 1 {
            throw JSONFailure(offset: firstDigit, reason: "a number begins with 0")
        }
        var isInteger = true
        if peek == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try skipDigits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
        if isInteger && fits && (isNegative || sum != .min) {
            return .integer(isNegative ? sum : -sum)
        }
        let digits = String(decoding: text[start..<position], as: UTF8.self)
        guard let number = Double(digits), number.isFinite else {
            throw JSONFailure(offset: start, reason: "the number \(digits.prefix(40)) is too large")
        }
        return .double(number)
    }

    private mutating func skipDigits() throws(JSONFailure) {
        let start = position
        while peekDigit != nil { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }

    private var peekDigit: Int64? {
        guard position < text.count else { return nil }
        let byte = text[position]
        return Self.isDigit(byte) ? Int64(byte - UInt8(ascii: "0")) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    // MARK: Strings

    private mutating func readText() throws(JSONFailure) -> String {
        position += 1
        let start = position
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") {
                let string = try checked(text[start..<position], at: start)
                position += 1
                return string
            }
            if byte == UInt8(ascii: "\\") { return try readEscapedText(from: start) }
            guard byte >= 0x20 else { throw failure("a control character in a string") }
            position += 1
        }
        throw failure("the text ends inside a string")
    }

    private mutating func readEscapedText(from start: Int) throws(JSONFailure) -> String {
        var bytes = Array(text[start..<position])
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try checked(bytes, at: start)
            case UInt8(ascii: "\\"):
                position += 1
                try readEscape(into: &bytes)
            case 0..<0x20:
                throw failure("a control character in a string")
            default:
                bytes.append(byte)
                position += 1
            }
        }
        throw failure("the text ends inside a string")
    }

    private mutating func readEscape(into bytes: inout [UInt8]) throws(JSONFailure) {
        guard let byte = peek else { throw failure("the text ends inside a string") }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(byte)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            let scalar = try readEscapedScalar()
            bytes.append(contentsOf: UTF8.encode(scalar)!)
            return
        default: throw failure("an escape that JSON does not have")
        }
        position += 1
    }

    /// One `XXXX`, or two with `\u` between them.
    private mutating func readEscapedScalar() throws(JSONFailure) -> Unicode.Scalar {
        let start = position
        let first = try readHexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, position + 1 < text.count, text[position] == UInt8(ascii: "\\"),
            text[position + 1] == UInt8(ascii: "u")
        {
            position += 2
            let second = try readHexadecimal()
            if (0xDC00..<0xE000).contains(second) {
                let pair = (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
                if let scalar = Unicode.Scalar(0x10000 + pair) { return scalar }
            }
        }
        throw JSONFailure(offset: start, reason: "half of a surrogate pair")
    }

    private mutating func readHexadecimal() throws(JSONFailure) -> UInt16 {
        var number: UInt16 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch peek {
            case .some(let byte) where Self.isDigit(byte):
                digit = byte - UInt8(ascii: "0")
            case .some(let byte) where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"):
                digit = byte - UInt8(ascii: "a") + 10
            case .some(let byte) where byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F"):
                digit = byte - UInt8(ascii: "A") + 10
            default: throw failure("expected four hexadecimal digits")
            }
            number = number << 4 | UInt16(digit)
            position += 1
        }
        return number
    }

    private func checked(
        _ bytes: some Collection<UInt8>, at start: Int
    ) throws(JSONFailure) -> String {
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw JSONFailure(offset: start, reason: "a string is not UTF-8")
        }
        return string
    }

    // MARK: Position

    private var peek: UInt8? {
        position < text.count ? text[position] : nil
    }

    private mutating func skipBlanks() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func enter() throws(JSONFailure) {
        guard depth < Self.maxDepth else { throw failure("nested too deep") }
        depth += 1
        position += 1
    }

    private mutating func leave() {
        depth -= 1
        position += 1
    }

    private mutating func expectEnd() throws(JSONFailure) {
        skipBlanks()
        guard position == text.count else { throw failure("more text after the value") }
    }

    private func failure(_ reason: String) -> JSONFailure {
        JSONFailure(offset: position, reason: reason)
    }
}
