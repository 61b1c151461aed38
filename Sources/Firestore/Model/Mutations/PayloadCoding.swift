import CLarder

/// Encodes a payload: a sequence of numbers, strings and values.
struct PayloadWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends a varint.
    mutating func count(_ count: Int) {
        var rest = UInt(bitPattern: count)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Appends bytes preceded by their size.
    mutating func sized(_ buffer: UnsafeRawBufferPointer) {
        count(buffer.count)
        bytes.append(contentsOf: buffer)
    }

    mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { sized(UnsafeRawBufferPointer($0)) }
    }

    mutating func record(_ record: Record) throws(LarderError) {
        try record.withEncodedBytes { sized($0) }
    }

    mutating func value(_ value: Value, _ builder: RecordBuilder) throws(LarderError) {
        try builder.encode(value).bytes.withUnsafeBytes { sized($0) }
    }

    mutating func path(_ path: FieldPath) {
        path.encoded.withUnsafeBytes { sized($0) }
    }

    mutating func mask(_ mask: FieldMask) {
        count(mask.paths.count)
        for path in mask.paths { self.path(path) }
    }

    /// 8 bytes, little-endian.
    mutating func integer(_ integer: Int64) {
        withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Seconds in 8 bytes and nanoseconds in 4, little-endian.
    mutating func time(_ time: Timestamp) {
        integer(time.seconds)
        withUnsafeBytes(of: time.nanoseconds.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// Decodes what ``PayloadWriter`` encodes; throws for all other input.
struct PayloadReader {
    private var rest: UnsafeRawBufferPointer

    /// Reads bytes that must outlive the reader.
    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes
    }

    static func damage(_ what: String) -> LarderError {
        LarderError(.dataLoss, "a payload of pending writes has \(what)", condition: .corrupt)
    }

    /// Throws unless everything is read.
    func finish() throws(LarderError) {
        guard rest.isEmpty else { throw Self.damage("trailing bytes") }
    }

    mutating func byte() throws(LarderError) -> UInt8 {
        guard let byte = rest.first else { throw Self.damage("a premature end") }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return byte
    }

    /// Reads a size or count, which cannot exceed the number of remaining bytes.
    mutating func count() throws(LarderError) -> Int {
        var (number, shift) = (UInt(0), UInt(0))
        while true {
            let next = try byte()
            guard shift < 35 else { throw Self.damage("a number that is too long") }
            number |= UInt(next & 0x7f) << shift
            shift += 7
            if next < 0x80 { break }
        }
        guard let count = Int(exactly: number), count <= rest.count else {
            throw Self.damage("a count beyond its end")
        }
        return count
    }

    /// Bytes preceded by their size; valid as long as the payload's are.
    mutating func sized() throws(LarderError) -> UnsafeRawBufferPointer {
        try fixed(try count())
    }

    private mutating func fixed(_ size: Int) throws(LarderError) -> UnsafeRawBufferPointer {
        guard size <= rest.count else { throw Self.damage("a premature end") }
        let taken = UnsafeRawBufferPointer(rebasing: rest[..<size])
        rest = UnsafeRawBufferPointer(rebasing: rest[size...])
        return taken
    }

    mutating func documentPath() throws(LarderError) -> DocumentPath {
        guard let text = String(validating: try sized(), as: UTF8.self),
            let path = try? DocumentPath(stored: text), path.string.utf8.count == text.utf8.count
        else { throw Self.damage("a malformed document path") }
        return path
    }

    mutating func record() throws(LarderError) -> Record {
        let bytes = larder_bytes(try sized())
        do {
            return Record(
                storage: try RecordStorage.copying(
                    validating: bytes, maxDepth: .max, maxBytes: .max))
        } catch {
            throw Self.damage("a malformed record")
        }
    }

    mutating func value() throws(LarderError) -> Value {
        let bytes = larder_bytes(try sized())
        guard larder_value_validate(bytes, UInt32.max, nil) == .ok,
            let value = try? Value(decoding: bytes)
        else { throw Self.damage("a malformed value") }
        return value
    }

    mutating func path() throws(LarderError) -> FieldPath {
        guard let decoded = FieldPath(encoded: try sized()),
            let path = try? FieldPath(decoded.segments)
        else { throw Self.damage("a malformed field path") }
        return path
    }

    mutating func mask() throws(LarderError) -> FieldMask {
        FieldMask(try (0..<count()).map { _ throws(LarderError) in try path() })
    }

    mutating func integer() throws(LarderError) -> Int64 {
        Int64(littleEndian: try fixed(8).loadUnaligned(as: Int64.self))
    }

    mutating func time() throws(LarderError) -> Timestamp {
        let seconds = try fixed(8).loadUnaligned(as: Int64.self)
        let nanoseconds = try fixed(4).loadUnaligned(as: Int32.self)
        guard
            let time = try? Timestamp(
                validatingSeconds: Int64(littleEndian: seconds),
                nanoseconds: Int32(littleEndian: nanoseconds))
        else { throw Self.damage("a time out of range") }
        return time
    }
}
