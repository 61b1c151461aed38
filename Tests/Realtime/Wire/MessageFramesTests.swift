import LarderRealtimeWire
import LarderSharedTestSupport
import Testing

@Suite struct MessageFramesTests {
    private func frames(_ text: String) throws -> [String] {
        try #require(MessageFrames(Array(text.utf8))).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a message of one segment is one frame`() throws {
        for count in [0, 5, 16_383, 16_384] {
            let text = String(repeating: "x", count: count)
            #expect(try frames(text) == [text])
        }
    }

    @Test func `a long message follows the count of its segments`() throws {
        let frames = try frames(String(repeating: "x", count: 40_000))
        #expect(frames[0] == "3")
        #expect(frames[1...].map(\.count) == [16_384, 16_384, 7_232])
    }

    @Test func `segments are counted in UTF-16 code units and end between code points`() throws {
        // Two, three and four bytes; one, one and two code units.
        for (character, perSegment) in [("é", 16_384), ("€", 16_384), ("😀", 8_192)] {
            let full = try frames(String(repeating: character, count: perSegment))
            #expect(full.count == 1)
            let more = try frames(String(repeating: character, count: perSegment + 1))
            #expect(more[0] == "2")
            #expect(more[1].utf16.count == 16_384)
            #expect(more[2] == character)
        }
        // A pair that would cross the boundary moves to the next segment as a whole.
        let crossing = try frames(String(repeating: "x", count: 16_383) + "😀")
        #expect(crossing.map(\.utf16.count) == [1, 16_383, 2])
    }

    @Test func `at every distance from the boundary all frames are text and join to the message`()
        throws
    {
        for before in 16_370...16_390 {
            for middle in ["😀", "é😀", "€x", "xy"] {
                let text = String(repeating: "x", count: before) + middle + "end"
                try check(text, "\(before) before \(middle)")
            }
        }
    }

    @Test func `random texts are divided into valid segments`() throws {
        var random = SeededRandom()
        for _ in 0..<30 {
            var text = ""
            let characters = ["x", "é", "€", "😀", "\u{ffff}", "\u{10ffff}", "\u{7f}", "\u{800}"]
            for _ in 0..<random.below(12_000) {
                text += String(repeating: random.pick(characters), count: 1 + random.below(9))
            }
            try check(text, "\(random)")
        }
    }

    private func check(_ text: String, _ comment: String) throws {
        let frames = try #require(MessageFrames(Array(text.utf8))).map { Array($0) }
        var segments = frames
        if text.utf16.count > 16_384 {
            #expect(
                String(decoding: frames[0], as: UTF8.self) == "\(frames.count - 1)", "\(comment)")
            segments.removeFirst()
        } else {
            #expect(frames.count == 1, "\(comment)")
        }
        for segment in segments {
            let part = try #require(String(validating: segment, as: UTF8.self), "\(comment)")
            #expect(part.utf16.count <= 16_384, "\(comment)")
        }
        #expect(segments.joined().elementsEqual(text.utf8), "\(comment)")
        var assembler = FrameAssembler(maximumBytes: text.utf8.count + 10)
        let messages = try frames.compactMap { try assembler.add($0) }
        #expect(messages == [Array(text.utf8)], "\(comment)")
        #expect(!assembler.isWithinMessage)
    }

    @Test func `text of too many segments cannot be sent`() {
        let text = [UInt8](repeating: 0x78, count: 16_384 * 3)
        #expect(MessageFrames(text, maximumSegmentCount: 3) != nil)
        #expect(MessageFrames(text + [0x78], maximumSegmentCount: 3) == nil)
        #expect(String(MessageFrames.maximumSegmentCount).count == 4)
    }
}
