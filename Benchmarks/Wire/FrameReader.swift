/// Cuts what comes over a connection into the frames of HTTP/2.
struct FrameReader {
    /// What a frame is.
    struct Kind: RawRepresentable, Equatable {
        let rawValue: UInt8

        static let data = Kind(rawValue: 0)
        static let headers = Kind(rawValue: 1)
        static let reset = Kind(rawValue: 3)
        static let settings = Kind(rawValue: 4)
        static let ping = Kind(rawValue: 6)
        static let goAway = Kind(rawValue: 7)
        static let windowUpdate = Kind(rawValue: 8)
    }

    /// A frame; its payload is a range of ``FrameReader/bytes``.
    struct Frame {
        let kind: Kind
        let flags: UInt8
        let stream: UInt32
        let payload: Range<Int>
    }

    /// What has come and is not yet dropped.
    private(set) var bytes: [UInt8] = []
    private var position = 0

    /// The next frame; nil until more has come.
    mutating func next() -> Frame? {
        guard bytes.count >= position + 9 else { return nil }
        let length = Int(bytes[position]) << 16 | Int(bytes.bigEndian(at: position + 1, count: 2))
        let end = position + 9 + length
        guard bytes.count >= end else { return nil }
        defer { position = end }
        return Frame(
            kind: Kind(rawValue: bytes[position + 3]), flags: bytes[position + 4],
            stream: bytes.bigEndian(at: position + 5, count: 4) & 0x7fff_ffff,
            payload: (position + 9)..<end)
    }

    /// Takes what has come; frames that were given before are no longer there.
    mutating func append(_ more: UnsafeRawBufferPointer) {
        bytes.removeSubrange(..<position)
        position = 0
        bytes.append(contentsOf: more)
    }
}

extension [UInt8] {
    /// The number in the big-endian bytes at a position.
    func bigEndian(at position: Int, count: Int) -> UInt32 {
        self[position..<position + count].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Adds the last bytes of a number, the highest first.
    mutating func append(bigEndian number: UInt32, count: Int) {
        for byte in (0..<count).reversed() {
            append(UInt8(truncatingIfNeeded: number >> (8 * byte)))
        }
    }
}
