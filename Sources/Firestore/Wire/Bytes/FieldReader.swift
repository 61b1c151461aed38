/// Reads the fields of a message's bytes, in the order that they came in.
struct FieldReader {
    private var rest: UnsafeRawBufferPointer.SubSequence

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
    }

    /// Whether there is no field more.
    var isAtEnd: Bool { rest.isEmpty }

    /// A number that varies in length: a value, or what the next field is.
    ///
    /// That is its number times eight, and how its value is written.
    mutating func number() throws(NeedsFullDecoding) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64, let byte = rest.popFirst() {
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw NeedsFullDecoding()
    }

    /// A number of eight bytes.
    mutating func double() throws(NeedsFullDecoding) -> Double {
        let bytes = try take(8)
        return Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
    }

    /// What a text, bytes or an embedded message consist of.
    mutating func content() throws(NeedsFullDecoding) -> UnsafeRawBufferPointer {
        guard let count = Int(exactly: try number()) else { throw NeedsFullDecoding() }
        return try take(count)
    }

    private mutating func take(_ count: Int) throws(NeedsFullDecoding) -> UnsafeRawBufferPointer {
        guard count <= rest.count else { throw NeedsFullDecoding() }
        defer { rest = rest.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}

/// That bytes are not what nearly all of their kind are; SwiftProtobuf reads them then.
struct NeedsFullDecoding: Error {}
