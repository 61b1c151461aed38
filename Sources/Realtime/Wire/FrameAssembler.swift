package import LarderCore
import LarderRealtimeModel

/// Joins the text frames of a peer into messages; see ``MessageFrames``.
///
/// A frame of at most six digits between messages is the count of segments of the next one. Zero
/// is a keepalive, which means nothing.
package struct FrameAssembler: Sendable {
    private static let maximumCountDigits = 6

    private let maximumBytes: Int
    private var text: [UInt8] = []
    /// The segments that the message lacks; 0 between messages.
    private var missingCount = 0

    /// - Parameter maximumBytes: the size of the longest message.
    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// True if a message has begun and is not complete.
    package var isWithinMessage: Bool { missingCount > 0 }

    /// The size of the message that has begun.
    package var byteCount: Int { text.count }

    /// Adds a frame.
    ///
    /// - Returns: the message that it completes; nil if it completes none.
    /// - Throws: `resourceExhausted` for a message that is too long.
    package mutating func add(_ frame: [UInt8]) throws(LarderError) -> [UInt8]? {
        guard text.count + frame.count <= maximumBytes else {
            throw LarderError(
                realtime: .resourceExhausted, "a message is longer than \(maximumBytes) bytes")
        }
        guard missingCount > 0 else {
            guard let count = Self.count(frame) else { return frame }
            missingCount = count
            return nil
        }
        text += frame
        missingCount -= 1
        guard missingCount == 0 else { return nil }
        defer { text = [] }
        return text
    }

    /// The number that a frame of digits is.
    private static func count(_ frame: [UInt8]) -> Int? {
        guard (1...maximumCountDigits).contains(frame.count) else { return nil }
        var count = 0
        for byte in frame {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            count = count * 10 + Int(digit)
        }
        return count
    }
}
