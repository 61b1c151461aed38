import Foundation
import Testing

@testable import LarderCore

@Suite("Boxed and decimal numbers")
struct BoxedNumberTests {
    @Test(
        "amounts are the nearest doubles",
        arguments: [
            ("4.06", 4.06), ("0.07", 0.07), ("1.1", 1.1), ("-2.675", -2.675), ("0", 0.0),
            ("1234567.89", 1_234_567.89), ("0.1234567890123456789", 0.12345678901234568),
            ("99999999999999999999999999999999999999", 1e38), ("1e-40", 1e-40), ("1e120", 1e120),
            ("9007199254740993", 9_007_199_254_740_992.0), ("-0.07", -0.07),
        ])
    func amounts(text: String, expected: Double) throws {
        let decimal = try #require(Decimal(string: text))
        #expect(Double(nearest: decimal) == expected)
        #expect(BoxedNumber(NSDecimalNumber(decimal: decimal)) == .double(expected))
    }

    @Test("every amount with two digits, and random decimals, are the nearest doubles")
    func random() throws {
        for cents in 0..<30_000 {
            let text = "\(cents / 100).\(cents % 100 / 10)\(cents % 10)"
            let decimal = try #require(Decimal(string: text))
            #expect(Double(nearest: decimal) == Double(text), "\(text)")
        }
        var random = SplitMix(seed: 17)
        for _ in 0..<5_000 {
            let digits = Int.random(in: 1...38, using: &random)
            var text = Bool.random(using: &random) ? "-" : ""
            for _ in 0..<digits { text += String(Int.random(in: 0...9, using: &random)) }
            text += "e\(Int.random(in: -100...80, using: &random))"
            // strtod is the correct conversion; Decimal may round what has more than 38 digits.
            guard let decimal = Decimal(string: text) else { continue }
            #expect(Double(nearest: decimal) == strtod(decimal.description, nil), "\(text)")
            #expect(Double(nearest: decimal) == strtod(text, nil), "\(text)")
        }
        #expect(Double(nearest: .nan).isNaN)
    }

    @Test("numbers keep the type that they were boxed from")
    func types() {
        #expect(BoxedNumber(NSNumber(value: true)) == .boolean(true))
        #expect(BoxedNumber(NSNumber(value: 1)) == .integer(1))
        #expect(BoxedNumber(NSNumber(value: UInt64.max)) == .large(.max))
        #expect(BoxedNumber(NSNumber(value: UInt64(5))) == .integer(5))
        #expect(BoxedNumber(NSNumber(value: Float(0.5))) == .double(0.5))
        #expect(BoxedNumber(NSNumber(value: -0.0)) == .double(-0.0))
    }
}
