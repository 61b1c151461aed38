import LarderCore
import LarderRealtimeWire
import LarderSharedTestSupport
import Testing

@Suite struct FrameAssemblerTests {
    private var assembler = FrameAssembler(maximumBytes: 100)

    private mutating func add(_ frame: String) throws -> String? {
        try assembler.add(Array(frame.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test mutating func `a frame that is no count is a message`() throws {
        for text in ["{}", "12x", "-1", "1.0", " 1", "1234567", ""] {
            #expect(try add(text) == text)
        }
    }

    @Test mutating func `as many frames as counted are one message, whatever they contain`() throws
    {
        #expect(try add("3") == nil)
        #expect(try add("1") == nil)
        #expect(assembler.isWithinMessage)
        #expect(try add("") == nil)
        #expect(try add("0") == "10")
        #expect(try add("000001") == nil)
        #expect(try add("a") == "a")
    }

    @Test mutating func `a zero means nothing between messages`() throws {
        #expect(try add("0") == nil)
        #expect(try add("000000") == nil)
        #expect(!assembler.isWithinMessage)
        #expect(try add("{}") == "{}")
    }

    @Test func `a character may be divided by frames`() throws {
        var assembler = FrameAssembler(maximumBytes: 100)
        let bytes = Array("😀".utf8)
        _ = try assembler.add(Array("4".utf8))
        for byte in bytes[..<3] { #expect(try assembler.add([byte]) == nil) }
        #expect(try assembler.add([bytes[3]]) == bytes)
    }

    @Test func `messages beyond the maximum are refused before they are stored`() throws {
        var assembler = FrameAssembler(maximumBytes: 100)
        #expect(code { try assembler.add([UInt8](repeating: 1, count: 101)) } == .resourceExhausted)
        #expect(try assembler.add([UInt8](repeating: 1, count: 100))?.count == 100)
        _ = try assembler.add(Array("999999".utf8))
        for _ in 0..<10 { #expect(try assembler.add([UInt8](repeating: 1, count: 10)) == nil) }
        #expect(code { try assembler.add([1]) } == .resourceExhausted)
    }
}
