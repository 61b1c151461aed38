#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Splits a stream of JSON text into documents, with constant memory.
///
/// Supports three layouts: one object per line (NDJSON), an array of objects, an object of objects
/// by ID. The text is only split here; ``TypedJSONReader`` parses each piece, so a malformed
/// document does not affect the others.
package final class DocumentInput {
    /// The layout of documents in the text.
    package enum Layout: String, CaseIterable {
        /// One object per line.
        case ndjson
        /// An array of objects, or an object with documents by ID.
        case json
    }

    /// One document's text; the bytes are valid until the next call.
    package struct Piece {
        package let text: UnsafeBufferPointer<UInt8>
        /// The document's ID as JSON text, if the layout has one.
        package let key: UnsafeBufferPointer<UInt8>?
        /// The line number of the text, from 1.
        package let line: Int
    }

    /// The next piece, or its absence.
    package enum Next {
        case piece(Piece)
        /// A piece larger than ``maxBytes``, which was skipped.
        case tooLarge(line: Int)
        case end
    }

    /// Text that does not match the layout; nothing after it can be read.
    package struct Broken: Error {
        package let line: Int
        package let reason: String
    }

    /// Reads into a buffer from its beginning; returns the number of bytes, 0 at the end of the input.
    package typealias Read = (UnsafeMutableRawBufferPointer) throws -> Int

    /// A document is limited to 1 MiB; as JSON, with every character escaped, to six times that.
    package static let maxPieceBytes = 8 * 1024 * 1024

    /// The number of bytes consumed, for progress.
    package private(set) var consumedBytes: Int64 = 0

    /// The layout; known after the first piece.
    package private(set) var layout: Layout?

    private let read: Read
    private let maxBytes: Int
    private let prefersJSON: Bool
    private var buffer: UnsafeMutableBufferPointer<UInt8>
    /// The unconsumed bytes are `start..<end` of the buffer.
    private var start = 0
    private var end = 0
    private var isAtEnd = false
    private var line = 1
    private var place = Place.beginning

    private enum Place {
        case beginning
        case lines
        case array(isFirst: Bool)
        case object(isFirst: Bool)
        case finished
    }

    /// Creates an input.
    ///
    /// Without a layout, it is detected: `[` starts an array; an object that is complete on the
    /// first line is NDJSON, unless nothing follows and `prefersJSON` is true because the file's
    /// name ends in `.json`.
    ///
    /// - Parameters:
    ///   - maxBytes: the maximum size of a piece.
    ///   - read: reads the text.
    package init(
        layout: Layout?, prefersJSON: Bool, maxBytes: Int = maxPieceBytes, read: @escaping Read
    ) {
        self.read = read
        self.maxBytes = maxBytes
        self.layout = layout
        self.prefersJSON = prefersJSON
        buffer = .allocate(capacity: 256 * 1024)
    }

    deinit {
        buffer.deallocate()
    }

    /// The next document's text.
    ///
    /// - Throws: ``Broken``, and errors of reading.
    package func next() throws -> Next {
        switch place {
        case .beginning:
            try begin()
            return try next()
        case .lines: return try nextLine()
        case .array(let isFirst): return try nextElement(isFirst: isFirst)
        case .object(let isFirst): return try nextEntry(isFirst: isFirst)
        case .finished: return .end
        }
    }

    // MARK: Detection

    private func begin() throws {
        while available < 4 && !isAtEnd { try fill() }
        let first = (0..<min(4, available)).map { buffer[start + $0] }
        if first.starts(with: [0xEF, 0xBB, 0xBF]) {
            consume(3)
        } else if first.starts(with: [0xFE, 0xFF]) || first.starts(with: [0xFF, 0xFE]) {
            throw Broken(
                line: 1, reason: "the text is UTF-16; convert it, e.g. with iconv -t UTF-8")
        } else if first.starts(with: [0x1F, 0x8B]) || first.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) {
            throw Broken(
                line: 1, reason: "the input is compressed; pipe it through gzip -dc or zstd -dc")
        }
        if layout == .ndjson {
            place = .lines
            return
        }
        guard let byte = try skipBlanks() else {
            place = .finished
            return
        }
        switch (byte, layout) {
        case (UInt8(ascii: "["), _):
            layout = .json
            consume(1)
            place = .array(isFirst: true)
        case (UInt8(ascii: "{"), .json):
            consume(1)
            place = .object(isFirst: true)
        case (UInt8(ascii: "{"), _):
            if try looksLikeLines() {
                layout = .ndjson
                place = .lines
            } else {
                layout = .json
                consume(1)
                place = .object(isFirst: true)
            }
        default:
            throw Broken(line: line, reason: "JSON documents begin with '{' or '['")
        }
    }

    /// Whether the first object is complete on its line and not the only content of a `.json` file.
    private func looksLikeLines() throws -> Bool {
        var scanned = 0
        var newline: Int?
        while newline == nil {
            newline = find(UInt8(ascii: "\n"), from: scanned)
            scanned = available
            if newline == nil {
                if isAtEnd { break }
                // A first line of this size would be rejected as a document, so it must be an
                // object of documents.
                if available >= maxBytes { return false }
                try fill()
            }
        }
        let lineEnd = newline ?? available
        guard let size = try valueSize(from: 0), size <= lineEnd else {
            return false
        }
        if !prefersJSON { return true }
        var position = lineEnd
        while true {
            while position < available {
                if !Self.isBlank(buffer[start + position]) { return true }
                position += 1
            }
            if isAtEnd || available >= maxBytes { return false }
            try fill()
        }
    }

    // MARK: Lines

    private func nextLine() throws -> Next {
        while true {
            var scanned = 0
            var newline = find(UInt8(ascii: "\n"), from: 0)
            while newline == nil && !isAtEnd {
                scanned = available
                if scanned > maxBytes { return try skipLongLine() }
                try fill()
                newline = find(UInt8(ascii: "\n"), from: scanned)
            }
            let size = newline ?? available
            if newline == nil && size == 0 {
                place = .finished
                return .end
            }
            let text = UnsafeBufferPointer(rebasing: buffer[start..<start + size])
            let number = line
            consume(newline == nil ? size : size + 1)
            line += 1
            if size > maxBytes { return .tooLarge(line: number) }
            if !text.allSatisfy(Self.isBlank) {
                return .piece(Piece(text: text, key: nil, line: number))
            }
        }
    }

    private func skipLongLine() throws -> Next {
        let number = line
        while true {
            if let newline = find(UInt8(ascii: "\n"), from: 0) {
                consume(newline + 1)
                break
            }
            consume(available)
            if isAtEnd { break }
            try fill()
        }
        line += 1
        return .tooLarge(line: number)
    }

    // MARK: An array or an object

    private func nextElement(isFirst: Bool) throws -> Next {
        guard try nextMember(isFirst: isFirst, closing: UInt8(ascii: "]")) else { return .end }
        place = .array(isFirst: false)
        return try piece(keyBytes: nil)
    }

    private func nextEntry(isFirst: Bool) throws -> Next {
        guard try nextMember(isFirst: isFirst, closing: UInt8(ascii: "}")) else { return .end }
        place = .object(isFirst: false)
        guard try skipBlanks() == UInt8(ascii: "\"") else {
            throw Broken(line: line, reason: "expected an ID in quotes")
        }
        guard let keySize = try valueSize(from: 0) else {
            throw isAtEnd ? endsEarly : Broken(line: line, reason: "an ID is too long")
        }
        return try piece(keyBytes: keySize)
    }

    /// Advances to the next member; false at the closing bracket, which only blanks may follow.
    private func nextMember(isFirst: Bool, closing: UInt8) throws -> Bool {
        guard var byte = try skipBlanks() else { throw endsEarly }
        if byte == closing {
            consume(1)
            if try skipBlanks() != nil {
                throw Broken(line: line, reason: "more text after the end of the JSON value")
            }
            place = .finished
            return false
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else {
                throw Broken(
                    line: line,
                    reason: "expected ',' or '\(Character(Unicode.Scalar(closing)))'")
            }
            consume(1)
            guard let following = try skipBlanks() else { throw endsEarly }
            byte = following
            if byte == closing {
                throw Broken(line: line, reason: "a trailing comma")
            }
        }
        return true
    }

    /// The value at the current position, after a key of the given size and a colon.
    private func piece(keyBytes: Int?) throws -> Next {
        let number = line
        var offset = 0
        if let keyBytes {
            offset = try skipBlanks(from: keyBytes)
            guard offset < available, buffer[start + offset] == UInt8(ascii: ":") else {
                throw Broken(line: line, reason: "expected ':' after an ID")
            }
            offset = try skipBlanks(from: offset + 1)
        }
        guard offset < available else { throw endsEarly }
        guard let size = try valueSize(from: offset) else {
            if isAtEnd { throw endsEarly }
            try skipLongValue(from: offset)
            return .tooLarge(line: number)
        }
        guard size > 0 else { throw Broken(line: line, reason: "expected a value") }
        let text = UnsafeBufferPointer(rebasing: buffer[start + offset..<start + offset + size])
        let key = keyBytes.map { UnsafeBufferPointer(rebasing: buffer[start..<start + $0]) }
        var linesBefore = 0
        for position in 0..<offset where buffer[start + position] == UInt8(ascii: "\n") {
            linesBefore += 1
        }
        consume(offset + size, countingLines: true)
        return .piece(Piece(text: text, key: key, line: number + linesBefore))
    }

    private var endsEarly: Broken {
        Broken(line: line, reason: "the text ends before the JSON value does")
    }

    // MARK: Scanning

    /// The size of the JSON value at an offset; nil if the text ends first or the value is larger
    /// than ``maxBytes``.
    private func valueSize(from offset: Int) throws -> Int? {
        var scanner = ValueScanner()
        var position = offset
        while true {
            if let count = scanner.scan(
                UnsafeBufferPointer(rebasing: buffer[start + position..<end]))
            {
                let size = position + count - offset
                return size <= maxBytes ? size : nil
            }
            position = available
            if isAtEnd {
                return scanner.isWord ? position - offset : nil
            }
            if position - offset > maxBytes { return nil }
            try fill()
        }
    }

    /// Consumes a value of any size.
    private func skipLongValue(from offset: Int) throws {
        consume(offset, countingLines: true)
        var scanner = ValueScanner()
        while true {
            let rest = UnsafeBufferPointer(rebasing: buffer[start..<end])
            if let count = scanner.scan(rest) {
                consume(count, countingLines: true)
                return
            }
            consume(available, countingLines: true)
            if isAtEnd {
                if scanner.isWord { return }
                throw endsEarly
            }
            try fill()
        }
    }

    /// Consumes whitespace and returns the next byte; nil at the end.
    private func skipBlanks() throws -> UInt8? {
        while true {
            while available > 0 {
                let byte = buffer[start]
                if !Self.isBlank(byte) { return byte }
                if byte == UInt8(ascii: "\n") { line += 1 }
                consume(1)
            }
            if isAtEnd { return nil }
            try fill()
        }
    }

    /// The offset of the first byte at or after `offset` that is not whitespace.
    private func skipBlanks(from offset: Int) throws -> Int {
        var offset = offset
        while true {
            while offset < available {
                if !Self.isBlank(buffer[start + offset]) { return offset }
                offset += 1
            }
            if isAtEnd || available > 2 * maxBytes { return offset }
            try fill()
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// The offset of the first occurrence of a byte.
    private func find(_ byte: UInt8, from offset: Int) -> Int? {
        guard offset < available, let base = buffer.baseAddress else { return nil }
        guard let found = memchr(base + start + offset, Int32(byte), available - offset) else {
            return nil
        }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base + start)
    }

    // MARK: The buffer

    private var available: Int { end - start }

    private func consume(_ count: Int, countingLines: Bool = false) {
        if countingLines {
            for position in start..<start + count where buffer[position] == UInt8(ascii: "\n") {
                line += 1
            }
        }
        start += count
        consumedBytes += Int64(count)
    }

    /// Reads more input; moves and grows the buffer as needed.
    private func fill() throws {
        if end == buffer.count {
            if start >= buffer.count / 2, let base = buffer.baseAddress {
                base.update(from: base + start, count: available)
            } else {
                let larger = UnsafeMutableBufferPointer<UInt8>.allocate(
                    capacity: buffer.count * 2)
                _ = larger.update(fromContentsOf: buffer[start..<end])
                buffer.deallocate()
                buffer = larger
            }
            end -= start
            start = 0
        }
        let room = UnsafeMutableBufferPointer(rebasing: buffer[end...])
        let count = try read(UnsafeMutableRawBufferPointer(room))
        end += count
        isAtEnd = count == 0
    }
}

/// Finds the end of a JSON value by counting brackets outside of strings, without parsing it.
///
/// Keeps its state between pieces of a text.
package struct ValueScanner {
    private var depth = 0
    private var state = State.before

    private enum State {
        case before
        case between
        case string
        case escape
        case word
    }

    /// Whether the value is a number or keyword, which also ends at the end of the text.
    package var isWord: Bool { state == .word }

    package init() {}

    /// Scans a piece and returns the size up to the value's end; nil if it is not in this piece.
    package mutating func scan(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        var position = 0
        while position < text.count {
            let byte = text[position]
            switch state {
            case .string:
                if byte == UInt8(ascii: "\"") {
                    state = .between
                    if depth == 0 { return position + 1 }
                } else if byte == UInt8(ascii: "\\") {
                    state = .escape
                }
            case .escape:
                state = .string
            case .word:
                switch byte {
                case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"),
                    0x20, 0x09, 0x0A, 0x0D:
                    return position
                default: break
                }
            case .before, .between:
                switch byte {
                case UInt8(ascii: "\""): state = .string
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    state = .between
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    // There is no value.
                    if depth == 0 { return position }
                    depth -= 1
                    if depth == 0 { return position + 1 }
                case UInt8(ascii: ",") where depth == 0:
                    return position
                default:
                    if depth == 0 { state = .word }
                }
            }
            position += 1
        }
        return nil
    }
}
