import LarderCore
import Testing

@Suite("Percent-encoded text")
struct PercentTextTests {
    @Test("every character is kept, a leading byte order mark too")
    func characters() {
        #expect(
            PercentText.decoded("%EF%BB%BFx").map { Array($0.utf8) } == [0xef, 0xbb, 0xbf, 120])
        #expect(
            PercentText.decoded("\u{feff}%20").map { Array($0.utf8) } == [0xef, 0xbb, 0xbf, 32])
        #expect(PercentText.decoded("%c3%BC+%2F%00") == "ü+/\0")
        #expect(PercentText.decoded("a+b%2B", isForm: true) == "a b+")
        #expect(PercentText.decoded("") == "")
    }

    @Test(
        "bytes that are not UTF-8 are no text", arguments: ["%FF", "a%C3", "%ED%A0%80", "%C0%80"])
    func invalid(text: String) {
        #expect(PercentText.decoded(text) == nil)
        #expect(PercentText.decoded(text, keepsMalformedEscapes: true) == nil)
    }

    @Test("a malformed escape is refused, or kept", arguments: ["%", "a%2", "%zz", "100%"])
    func malformed(text: String) {
        #expect(PercentText.decoded(text) == nil)
        #expect(PercentText.decoded(text, keepsMalformedEscapes: true) == text)
    }
}
