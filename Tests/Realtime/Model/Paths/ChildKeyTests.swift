import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Keys of children")
struct ChildKeyTests {
    /// Keys in their order.
    static let ordered = [
        "-2147483648", "-10", "-5", "-0", "0", "-00", "00", "000", "1", "01", "001", "2", "10",
        "2147483647", " ", "+1", "-", "--1", "-2147483649", "-Kx", "00000000000000000001",
        "1.5", "1a", "2147483648", "99999999999", "[MAX_NAME]", "[MIN_NAME]", "a", "a\u{1}",
        "abcdefg", "abcdefga", "abcdefgb", "abcdefh", "b", "e\u{301}", "z", "\u{e9}", "\u{d7ff}",
        "😀", "😀a", "😁", "\u{10ffff}", "\u{e000}", "\u{fffd}", "\u{ffff}",
    ]

    @Test("integers of 32 bits come first, then UTF-16 code units decide")
    func order() {
        // -0 and 0 differ in length; -00 and 000 do not.
        var texts = Self.ordered.filter { $0 != "-00" && $0 != "000" && $0 != "-0" && $0 != "0" }
        texts.removeAll { $0 == "00" }
        let keys = texts.map { ChildKey($0) }
        for (index, left) in keys.enumerated() {
            for (other, right) in keys.enumerated() {
                #expect((left < right) == (index < other), "\(left) and \(right)")
                #expect((left == right) == (index == other), "\(left) and \(right)")
            }
        }
    }

    @Test("integers of one value are ordered by length, then by text")
    func sameInteger() {
        let keys = ["0", "-0", "00", "-00", "000"].map { ChildKey($0) }
        #expect(keys.shuffled().sorted() == keys)
        #expect(keys.allSatisfy { $0.integer == 0 })
    }

    @Test("the order is that of a plain comparison")
    func randomOrder() {
        var random = SeededRandom()
        let pieces = ["", "0", "1", "-", "9", "a", "é", "\u{e000}", "😀", "\u{ffff}", "z", "10"]
        let texts = (0..<100).map { _ in
            (0..<random.below(12)).map { _ in random.pick(pieces) }.joined()
        }
        for left in texts {
            for right in texts {
                #expect(
                    (ChildKey(left) < ChildKey(right)) == PlainTree.isOrdered(left, before: right),
                    "'\(left)' and '\(right)', \(random)")
            }
        }
    }

    @Test("the sentinels lie outside all keys and equal none made from text")
    func sentinels() {
        for text in Self.ordered {
            #expect(ChildKey.min < ChildKey(text) && ChildKey(text) < ChildKey.max)
        }
        #expect(ChildKey("[MIN_NAME]") != .min && ChildKey("[MAX_NAME]") != .max)
        #expect(ChildKey(wire: "[MIN_NAME]") == .min && ChildKey(wire: "[MAX_NAME]") == .max)
        #expect(ChildKey(wire: "a") == ChildKey("a"))
        #expect(ChildKey.min.isSentinel && ChildKey.max.isSentinel && !ChildKey("a").isSentinel)
    }

    @Test("canonically equivalent texts are different keys, as dictionaries see them too")
    func equivalence() {
        let (composed, decomposed) = (ChildKey("\u{e9}"), ChildKey("e\u{301}"))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, ChildKey("\u{e9}")]).count == 2)
    }

    @Test("keys ordered as integers are those of 32 bits in at most eleven characters")
    func integers() {
        #expect(ChildKey("2147483647").integer == .max)
        #expect(ChildKey("-2147483648").integer == .min)
        #expect(ChildKey("00000000007").integer == 7)
        for text in ["2147483648", "000000000007", "", "-", "+1", "1a", " 1", "-00000000001"] {
            #expect(ChildKey(text).integer == nil, "\(text)")
        }
    }

    @Test("invalid keys are refused with their problem")
    func validation() throws {
        #expect(try ChildKey(validating: "fine key: é😀").text == "fine key: é😀")
        _ = try ChildKey(validating: String(repeating: "é", count: 384))
        let invalid = [
            "", "a.b", "a#", "$", "[", "]", "a/b", "\n", "\u{0}", "\u{1f}", "\u{7f}",
            String(repeating: "é", count: 384) + "x",
        ]
        for text in invalid {
            #expect(throws: LarderError.self, "\(text)") { try ChildKey(validating: text) }
        }
    }
}
