/// The text frames of a message, in order.
///
///     short message:  {"t":…}
///     long message:   3   {"t":…   …   …}
///
/// A message of more than 16,384 UTF-16 code units is cut into segments of at most as many, after
/// a frame with their count. Segments end between code points, so that each frame is UTF-8.
package struct MessageFrames: Sequence, IteratorProtocol, Sendable {
    /// The longest segment, in UTF-16 code units.
    package static let segmentLength = 16_384

    /// The most segments, whose count takes four digits: receivers take longer frames for
    /// messages.
    package static let maximumSegmentCount = 9_999

    private let text: [UInt8]
    /// The ends of the segments.
    private let ends: [Int]
    /// The count of frames that were returned, with that of the count.
    private var position: Int

    /// The frames of a message; nil if it has too many segments.
    package init?(_ text: [UInt8], maximumSegmentCount: Int = Self.maximumSegmentCount) {
        self.text = text
        // Text never has more code units than bytes.
        ends = text.count <= Self.segmentLength ? [text.count] : Self.ends(of: text)
        position = ends.count > 1 ? -1 : 0
        guard ends.count <= maximumSegmentCount else { return nil }
    }

    /// The size of the message in bytes.
    package var byteCount: Int { text.count }

    /// True once the last frame was returned.
    package var isFinished: Bool { position >= ends.count }

    /// The next frame; nil after the last one.
    package mutating func next() -> ArraySlice<UInt8>? {
        guard !isFinished else { return nil }
        defer { position += 1 }
        guard position >= 0 else { return Array(String(ends.count).utf8)[...] }
        return text[(position > 0 ? ends[position - 1] : 0)..<ends[position]]
    }

    private static func ends(of text: [UInt8]) -> [Int] {
        text.withUnsafeBufferPointer { bytes in
            var ends: [Int] = []
            var (offset, length) = (0, 0)
            while offset < bytes.count {
                let byte = bytes[offset]
                // The first byte of a code point counts, those that continue it do not.
                let units = byte & 0xC0 == 0x80 ? 0 : byte < 0xF0 ? 1 : 2
                if length + units > segmentLength {
                    ends.append(offset)
                    length = 0
                }
                length += units
                offset += 1
            }
            return ends + [bytes.count]
        }
    }
}
