import LarderModel

/// The moment up to which a watch stream has told everything, as bytes for a client to keep.
struct ResumeToken: Hashable {
    /// The backend that gave it: another one's times say nothing.
    let identity: UInt64
    /// The moment.
    let version: SnapshotVersion

    private static let format: UInt8 = 1
    private static let byteCount = 21

    /// A token of its parts.
    init(identity: UInt64, version: SnapshotVersion) {
        self.identity = identity
        self.version = version
    }

    /// Reads a token; nil for bytes that are none.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.format else { return nil }
        identity = Self.number(bytes[1..<9])
        let seconds = Int64(bitPattern: Self.number(bytes[9..<17]))
        let nanoseconds = Int32(truncatingIfNeeded: Self.number(bytes[17...]))
        guard
            let time = try? Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
        else { return nil }
        version = SnapshotVersion(time)
    }

    /// The token as bytes, big-endian.
    var bytes: [UInt8] {
        [Self.format] + Self.bytes(of: identity)
            + Self.bytes(of: UInt64(bitPattern: version.timestamp.seconds))
            + Self.bytes(of: UInt64(UInt32(bitPattern: version.timestamp.nanoseconds))).suffix(4)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
