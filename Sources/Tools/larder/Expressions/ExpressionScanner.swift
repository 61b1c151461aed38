import LarderCore
import LarderDocumentJSON
import LarderModel

/// A scanner of expressions: fields, operators, values.
struct ExpressionScanner {
    private let text: [UInt8]
    /// The database of references such as `ref:cities/SF`.
    private let database: DatabaseID
    /// The position of the next token, before blanks.
    private(set) var position = 0

    /// Bare words that begin like numbers and are strings, such as `1M`.
    private(set) var numberLikeWords: [String] = []

    /// The maximum nesting of lists and parentheses.
    static let maxDepth = 50

    init(_ text: String, database: DatabaseID, from offset: Int = 0) {
        self.text = Array(text.utf8)
        self.database = database
        position = min(max(0, offset), self.text.count)
    }

    /// Whether only whitespace is left.
    var isAtEnd: Bool { text[position...].allSatisfy(Self.isBlank) }

    /// A failure at the current position.
    func failure(_ reason: String) -> ExpressionFailure {
        ExpressionFailure(offset: position, reason: reason)
    }

    /// The next token, for messages.
    var found: String {
        let rest = text[position...].drop(while: Self.isBlank)
        if rest.isEmpty { return "the end" }
        return "'" + DisplayWidth.cut(String(decoding: rest, as: UTF8.self), to: 30) + "'"
    }

    // MARK: Tokens

    mutating func skipBlanks() {
        while position < text.count, Self.isBlank(text[position]) { position += 1 }
    }

    /// Consumes a text if it comes next.
    mutating func take(_ piece: String) -> Bool {
        skipBlanks()
        guard text[position...].starts(with: piece.utf8) else { return false }
        position += piece.utf8.count
        return true
    }

    /// Consumes a word of letters and hyphens if it comes next, ignoring case.
    mutating func takeWord(_ word: String) -> Bool {
        skipBlanks()
        let next = text[position...].prefix { Self.isLetter($0) || $0 == UInt8(ascii: "-") }
        guard String(decoding: next, as: UTF8.self).lowercased() == word,
            text[next.endIndex...].first.map({ Self.isDigit($0) || $0 == UInt8(ascii: "_") })
                != true
        else { return false }
        position += next.count
        return true
    }

    /// Consumes a field path in canonical form: names separated by dots, unusual ones in backticks.
    mutating func takeField() throws(ExpressionFailure) -> FieldPath {
        skipBlanks()
        let start = position
        var isQuoted = false
        scan: while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\\"): position += 1
            case UInt8(ascii: "`"): isQuoted.toggle()
            case UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","):
                if !isQuoted { break scan }
            case let byte where Self.isBlank(byte):
                if !isQuoted { break scan }
            default: break
            }
            position += 1
        }
        position = min(position, text.count)
        guard position > start else { throw failure("expected a field, found \(found)") }
        do throws(LarderError) {
            return try FieldPath(
                canonical: String(decoding: text[start..<position], as: UTF8.self))
        } catch {
            throw ExpressionFailure(offset: start, reason: error.message)
        }
    }

    // MARK: Values

    /// Consumes a value: JSON, a list in brackets, `ref:PATH`, `time:RFC3339`, or a bare word,
    /// which is a string.
    ///
    /// - Parameter isID: whether numbers and JSON keywords are strings, as for document IDs.
    mutating func takeValue(isID: Bool = false) throws(ExpressionFailure) -> Value {
        try takeValue(isID: isID, depth: 0)
    }

    /// Consumes one or more values separated by commas, up to the end.
    mutating func takeValues() throws(ExpressionFailure) -> [Value] {
        var values = [try takeValue()]
        while take(",") { values.append(try takeValue()) }
        try expectEnd()
        return values
    }

    /// Throws unless only blanks remain.
    func expectEnd() throws(ExpressionFailure) {
        guard isAtEnd else {
            throw failure(
                "expected the end, found \(found); quote text that contains spaces with \"\"")
        }
    }

    private mutating func takeValue(
        isID: Bool, depth: Int
    ) throws(ExpressionFailure) -> Value {
        skipBlanks()
        switch position < text.count ? text[position] : nil {
        case nil: throw failure("expected a value, found the end")
        case UInt8(ascii: "["): return try takeList(isID: isID, depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "{"): return try takeJSON()
        default: break
        }
        let start = position
        if take("ref:") { return try reference(try takeText(), at: start) }
        if take("time:") { return try time(try takeText(), at: start) }
        let word = try takeBareWord()
        if isID { return .string(word) }
        let value = Self.value(ofWord: word)
        if case .string = value, Self.beginsLikeNumber(word) { numberLikeWords.append(word) }
        return value
    }

    private mutating func takeList(
        isID: Bool, depth: Int
    ) throws(ExpressionFailure) -> Value {
        guard depth < Self.maxDepth else { throw failure("lists are nested too deeply") }
        position += 1
        var values: [Value] = []
        if take("]") { return .array([]) }
        repeat { values.append(try takeValue(isID: isID, depth: depth + 1)) } while take(",")
        guard take("]") else { throw failure("expected ',' or ']', found \(found)") }
        return .array(values)
    }

    /// Consumes a string or an object.
    private mutating func takeJSON() throws(ExpressionFailure) -> Value {
        let start = position
        var scanner = ValueScanner()
        let end = text.withUnsafeBufferPointer { bytes in
            scanner.scan(UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        guard let end else {
            throw failure(
                text[start] == UInt8(ascii: "{")
                    ? "a '{' without a matching '}'" : "a '\"' without a matching '\"'")
        }
        position = start + end
        do throws(JSONError) {
            return try TypedJSONReader.readValue(
                String(decoding: text[start..<position], as: UTF8.self))
        } catch {
            throw ExpressionFailure(offset: start + error.offset, reason: error.reason)
        }
    }

    /// Consumes the rest of `ref:` or `time:`: a quoted string or a bare word.
    private mutating func takeText() throws(ExpressionFailure) -> String {
        if position < text.count, text[position] == UInt8(ascii: "\"") {
            if case .string(let string) = try takeJSON() { return string }
        }
        return try takeBareWord()
    }

    private mutating func takeBareWord() throws(ExpressionFailure) -> String {
        let word = text[position...].prefix { byte in
            !Self.isBlank(byte) && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ")")
                && byte != UInt8(ascii: "]")
        }
        guard !word.isEmpty else { throw failure("expected a value, found \(found)") }
        position += word.count
        return String(decoding: word, as: UTF8.self)
    }

    private func reference(
        _ text: String, at start: Int
    ) throws(ExpressionFailure) -> Value {
        let name = ResourceName(text)
        if name.document != nil { return .reference(name) }
        do throws(LarderError) {
            return .reference(
                ResourceName(database: database, document: try DocumentPath(text)))
        } catch {
            throw ExpressionFailure(offset: start, reason: "ref: \(error.message)")
        }
    }

    private func time(_ text: String, at start: Int) throws(ExpressionFailure) -> Value {
        guard let time = Timestamp(rfc3339: text) else {
            throw ExpressionFailure(
                offset: start,
                reason: "time: requires RFC 3339, such as time:2026-01-31T12:00:00Z")
        }
        return .timestamp(time)
    }

    /// The value of an unquoted word: null, a boolean, a number or a string.
    static func value(ofWord word: String) -> Value {
        switch word {
        case "null": return .null
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        default: break
        }
        guard let first = word.utf8.first, first == UInt8(ascii: "-") || isDigit(first),
            let number = try? TypedJSONReader.readValue(word)
        else { return .string(word) }
        return number
    }

    /// True for a word such as `1M`: digits, and then a letter, `_`, `.` or the end; false for a date.
    private static func beginsLikeNumber(_ word: String) -> Bool {
        let unsigned = word.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
        let digits = unsigned.prefix(while: isDigit)
        guard !digits.isEmpty else { return false }
        return unsigned[digits.endIndex...].first.map {
            isLetter($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".")
        } ?? true
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
            || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
    }
}

/// A syntax error of an expression.
struct ExpressionFailure: Error, Equatable {
    /// The offset of the error in bytes.
    var offset: Int
    var reason: String
}

extension ToolError {
    init(_ failure: ExpressionFailure, in option: String, _ text: String, hint: String = "") {
        let shown = DisplayWidth.cut(text, to: 200)
        let place = text.isEmpty ? "" : ", at character \(Self.column(failure.offset, in: text))"
        self.init(.usage, "\(option) '\(shown)'\(place): \(failure.reason)", hint: hint)
    }

    private static func column(_ offset: Int, in text: String) -> Int {
        String(decoding: text.utf8.prefix(offset), as: UTF8.self).count + 1
    }
}
