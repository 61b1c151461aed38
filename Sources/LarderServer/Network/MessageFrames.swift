import NIOCore

/// Finds where the messages of a gRPC stream begin and end, without reading them.
///
/// ```
/// | is compressed: 1 byte | length: 4 bytes, the most significant first | message |
/// ```
struct MessageFrames {
    private static let prefixBytes = 5

    /// How many bytes of the prefix have come.
    private var prefixed = 0
    private var length = 0
    /// How many bytes of the message are still to come.
    private var left = 0

    /// Whether no message has begun and not ended.
    var isBetween: Bool { prefixed == 0 }

    /// Goes on behind more bytes of the stream.
    ///
    /// - Returns: how long the messages are, with their prefixes, whose lengths are known from
    ///   these bytes on.
    mutating func advance(over bytes: ByteBufferView) -> [Int] {
        var begun: [Int] = []
        var rest = bytes[...]
        while let byte = rest.first {
            if prefixed < Self.prefixBytes {
                if prefixed > 0 { length = length << 8 | Int(byte) }
                rest = rest.dropFirst()
                prefixed += 1
                if prefixed == Self.prefixBytes {
                    begun.append(Self.prefixBytes + length)
                    left = length
                }
            } else {
                let count = min(left, rest.count)
                rest = rest.dropFirst(count)
                left -= count
            }
            if prefixed == Self.prefixBytes, left == 0 { (prefixed, length) = (0, 0) }
        }
        return begun
    }
}
