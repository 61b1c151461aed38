import CLarder

/// Bytes of a payload that is being written: numbers, text and encoded values, one after another.
struct PayloadWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// A number in groups of seven bits, the lowest first.
    mutating func count(_ count: Int) {
        var rest = UInt(bitPattern: count)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// A size and as many bytes.
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

    /// Seconds in 8 bytes and nanoseconds in 4, little-endian.
    mutating func time(_ time: Timestamp) {
        withUnsafeBytes(of: time.seconds.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: time.nanoseconds.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
