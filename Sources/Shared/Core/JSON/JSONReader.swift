/// An error of reading JSON, and its position.
package struct JSONError: Error, Equatable {
    /// The byte at which reading stopped, as an offset in the text.
    package var offset: Int
    /// The problem, in one line.
    package var reason: String

    package init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    /// The line and the column in bytes of the offset in its text, both from 1.
    package func place(in text: some Collection<UInt8>) -> (line: Int, column: Int) {
        var (line, column) = (1, 1)
        for byte in text.prefix(offset) {
            (line, column) = byte == UInt8(ascii: "\n") ? (line + 1, 1) : (line, column + 1)
        }
        return (line, column)
    }
}

/// A number of a JSON text.
package enum JSONNumber: Sendable {
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    /// `-0`: an integer whose sign only a double can hold.
    case negativeZero
    /// Any other number, rounded to the nearest double.
    case double(Double)
}

/// A pull reader of one JSON text, strictly by RFC 8259.
///
/// The caller peeks at the next byte and reads a value of that kind; objects and arrays call a
/// closure for each member, which reads that member's value. So any type can be built from a text
/// without an intermediate tree; ``JSONValue`` is such a tree for callers that need one.
///
/// The reader borrows the text: it must not outlive it. No input traps. Recursion ends at
/// `maximumDepth`; limiting the size of a text is up to the caller.
///
/// Foundation's readers do not serve: they drop all but one of several members of one name, treat
/// canonically equivalent names as the same, do not distinguish 1 from 1.0, report no position for
/// most errors, and are several times slower.
package struct JSONReader {
    let text: UnsafeRawBufferPointer
    /// The offset of the next byte to read.
    package internal(set) var offset = 0
    /// The number of open arrays and objects.
    package private(set) var depth = 0
    private let maximumDepth: Int

    /// Reads a text that stays valid for the reader's life.
    ///
    /// - Parameter maximumDepth: the maximum nesting of arrays and objects.
    package init(_ text: UnsafeRawBufferPointer, maximumDepth: Int = 100) {
        self.text = text
        self.maximumDepth = maximumDepth
    }

    /// An error at the next byte.
    package func failure(_ reason: String) -> JSONError {
        JSONError(offset: offset, reason: reason)
    }

    // MARK: Position

    /// The next byte; nil at the end.
    @inline(__always)
    var byte: UInt8? { offset < text.count ? text[offset] : nil }

    /// Skips whitespace and returns the next byte without reading it; nil at the end.
    @inline(__always)
    package mutating func peek() -> UInt8? {
        while offset < text.count {
            let byte = text[offset]
            // Most bytes between tokens are not whitespace.
            guard byte <= 0x20 else { return byte }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return byte
            }
        }
        return nil
    }

    /// Throws unless only whitespace is left.
    package mutating func finish() throws(JSONError) {
        guard peek() == nil else { throw failure("more text after the value") }
    }

    // MARK: Objects and arrays

    /// Reads an object, which must begin at the next byte.
    ///
    /// - Parameter read: called for each member in order, with its name; reads exactly the value.
    @inline(__always)
    package mutating func readObject(
        _ read: (inout JSONReader, String) throws(JSONError) -> Void
    ) throws(JSONError) {
        try open(UInt8(ascii: "{"))
        if peek() == UInt8(ascii: "}") { return close() }
        while true {
            guard let quote = peek() else { throw failure("the text ends inside an object") }
            guard quote == UInt8(ascii: "\"") else { throw failure("expected a name in quotes") }
            let name = try readString()
            guard peek() == UInt8(ascii: ":") else { throw failure("expected ':' after a name") }
            offset += 1
            _ = peek()
            try read(&self, name)
            switch peek() {
            case UInt8(ascii: ","): offset += 1
            case UInt8(ascii: "}"): return close()
            case nil: throw failure("the text ends inside an object")
            default: throw failure("expected ',' or '}'")
            }
        }
    }

    /// Reads an array, which must begin at the next byte.
    ///
    /// - Parameter read: called for each element in order; reads exactly that value.
    @inline(__always)
    package mutating func readArray(
        _ read: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try open(UInt8(ascii: "["))
        if peek() == UInt8(ascii: "]") { return close() }
        while true {
            _ = peek()
            try read(&self)
            switch peek() {
            case UInt8(ascii: ","): offset += 1
            case UInt8(ascii: "]"): return close()
            case nil: throw failure("the text ends inside an array")
            default: throw failure("expected ',' or ']'")
            }
        }
    }

    /// Skips the next value, of which only strings and brackets are looked at.
    ///
    /// The skipped text is not checked. Complexity: linear, without recursion.
    package mutating func skipValue() throws(JSONError) {
        var openCount = 0
        repeat {
            guard let byte = peek() else { throw expectedValue() }
            switch byte {
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                openCount += 1
                offset += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
                guard openCount > 0 else { throw expectedValue() }
                if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { openCount -= 1 }
                offset += 1
            default: skipWord()
            }
        } while openCount > 0
    }

    /// Skips a number, `true`, `false` or `null`.
    private mutating func skipWord() {
        while let byte {
            switch byte {
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"), 0x20,
                0x09, 0x0A, 0x0D:
                return
            default: offset += 1
            }
        }
    }

    private mutating func open(_ bracket: UInt8) throws(JSONError) {
        guard byte == bracket else { throw expectedValue() }
        guard depth < maximumDepth else { throw failure("nested too deep") }
        depth += 1
        offset += 1
    }

    private mutating func close() {
        depth -= 1
        offset += 1
    }

    /// The error for a next byte that begins no value.
    package func expectedValue() -> JSONError {
        failure(byte == nil ? "the text ends where a value is expected" : "expected a value")
    }

    // MARK: Words

    package mutating func readNull() throws(JSONError) { try readWord("null") }

    package mutating func readBoolean() throws(JSONError) -> Bool {
        let isTrue = byte == UInt8(ascii: "t")
        try readWord(isTrue ? "true" : "false")
        return isTrue
    }

    private mutating func readWord(_ word: StaticString) throws(JSONError) {
        let end = offset + word.utf8CodeUnitCount
        guard end <= text.count else { throw expectedValue() }
        for position in 0..<word.utf8CodeUnitCount {
            guard text[offset + position] == word.utf8Start[position] else {
                throw expectedValue()
            }
        }
        offset = end
    }
}
