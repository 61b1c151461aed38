import Testing

@testable import LarderCore

@Suite("JSON writing")
struct JSONWriterTests {
    @Test("text is compact, on one line, with only the necessary escapes")
    func text() {
        let value = JSONValue.object([
            JSONMember("b", .array([.null, .boolean(true), .boolean(false), .object([])])),
            JSONMember("a \"\\/\u{8}\u{C}\n\r\t\u{0}\u{1f}\u{7f}é😀", .array([])),
            JSONMember("n", .array([.integer(-1), .double(1), .string("")])),
        ])
        #expect(
            written(value)
                == #"{"b":[null,true,false,{}],"a \"\\/\b\f\n\r\t\u0000\u001f"#
                + "\u{7f}é😀" + #"":[],"n":[-1,1.0,""]}"#)
    }

    @Test("escapes are written wherever they stand in a string")
    func escapes() throws {
        for count in 0..<20 {
            let plain = String(repeating: "é", count: count)
            for string in ["\n" + plain, plain + "\"", plain + "\\" + plain, plain] {
                let text = written(.string(string))
                #expect(try JSONValue(parsing: Array(text.utf8)) == .string(string))
            }
        }
    }

    @Test("integers are written in all their digits")
    func integers() {
        for integer in [0, 9, 10, -1, 1_234_567_890, .max, .min] as [Int64] {
            #expect(written(.integer(integer)) == integer.description)
        }
    }

    @Test("doubles are written in the shortest digits that read back, as Swift describes them")
    func doubles() {
        var random = SplitMix(seed: 7)
        var doubles: [Double] = [
            0, -0.0, 1, -1, 0.1, 2.5, 1e15, 1e16, 1e22, 1e-3, 1e-4, 999_999_999, 1e9, 0.000001,
            999_999_999.999999, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.3, 1 / 3,
            0.0010000000000000002, 123456.789012, 9_007_199_254_740_992, 0.9999995,
        ]
        for _ in 0..<5000 {
            doubles.append(Double(bitPattern: random.next()))
            doubles.append(Double(random.next() % 2_000_000_000_000) / 1e6)
            doubles.append(-Double(random.next() % 100_000) / 1000)
            doubles.append(Double(random.next() % 1_000_000_000_000_000) / 1e6 * (1 + .ulpOfOne))
        }
        let different = doubles.filter { $0.isFinite && written(.double($0)) != $0.description }
        #expect(different == [])
    }

    @Test("a double that is not finite is written as null")
    func notFinite() {
        for double in [Double.nan, .infinity, -.infinity] {
            #expect(written(.double(double)) == "null")
        }
    }

    private func written(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
