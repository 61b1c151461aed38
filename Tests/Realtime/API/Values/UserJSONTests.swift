import Foundation
import LarderCore
import Testing

@testable import LarderRealtime

@Suite("Values of applications")
struct UserJSONTests {
    private func json(_ value: Any?) throws -> JSONValue { try JSONValue(userValue: value) }

    @Test("Numbers keep their kinds, boxed or not")
    func numbers() throws {
        #expect(try json(1) == .integer(1) && json(Int8(-1)) == .integer(-1))
        #expect(try json(UInt64.max) == .double(Double(UInt64.max)))
        #expect(try json(1.5) == .double(1.5) && json(Float(0.5)) == .double(0.5))
        #expect(try json(true) == .boolean(true))
        #expect(try json(NSNumber(value: true)) == .boolean(true))
        #expect(try json(NSNumber(value: 1)) == .integer(1))
        #expect(try json(NSNumber(value: 1.5)) == .double(1.5))
        #expect(try json(NSNumber(value: UInt64.max)) == .double(Double(UInt64.max)))
        #expect(try json(Decimal(1.25)) == .double(1.25))
        for text in ["4.06", "0.07", "-2.675", "1234567.89"] {
            let decimal = try #require(Decimal(string: text))
            let expected = JSONValue.double(try #require(Double(text)))
            #expect(try json(decimal) == expected && json([decimal]) == .array([expected]))
            #expect(try json(NSDecimalNumber(decimal: decimal)) == expected)
            #expect(try json(["a": decimal])["a"] == expected)
        }
    }

    @Test("Containers may be of any kind, with optionals inside")
    func containers() throws {
        #expect(try json(nil) == .null && json(NSNull()) == .null)
        #expect(try json(Optional<Int>.none as Any) == .null)
        #expect(try json("a"[...]) == .string("a") && json(NSString("b")) == .string("b"))
        #expect(try json([1, 2]) == .array([.integer(1), .integer(2)]))
        #expect(try json([1, nil] as [Int?]) == .array([.integer(1), .null]))
        #expect(try json(["a": 1]) == .object([JSONMember("a", .integer(1))]))
        #expect(try json(["a": true] as [AnyHashable: Any])["a"] == .boolean(true))
        #expect(try json(["a": NSArray(array: [1])] as NSDictionary)["a"] == .array([.integer(1)]))
        #expect(try json(ServerValue.timestamp())[".sv"] == .string("timestamp"))
        #expect(try json(ServerValue.increment(2))[".sv"]?["increment"] == .integer(2))
    }

    @Test("Other types and endless nesting are errors")
    func refusals() {
        for value in [Date(), Data([1]), URL(fileURLWithPath: "/"), [1: 2], Set([1])] as [Any] {
            #expect(throws: LarderError.self) { try json(value) }
        }
        var nested: Any = 1
        for _ in 0..<2000 { nested = [nested] }
        #expect(throws: LarderError.self) { try json(nested) }
        let value = nested
        #expect(throws: LarderError.self) { try json(["a": value]) }
    }

    @Test("Numbers of snapshots cast to every numeric type that holds them")
    func foundation() {
        let seven: Any = JSONValue.integer(7).foundationValue
        #expect(seven as? Int == 7 && seven as? Double == 7 && seven as? TimeInterval == 7)
        #expect(JSONValue.boolean(true).foundationValue as? Bool == true)
        #expect(JSONValue.double(0.5).foundationValue as? Double == 0.5)
        let scores = JSONValue.object([JSONMember("a", .integer(1))]).foundationValue
        #expect(scores as? [String: Int] == ["a": 1])
        #expect(JSONValue.null.foundationValue is NSNull)
    }
}
