import Foundation
import LarderModel
import Testing

@testable import Larder

private struct Box<T: Codable>: Codable { var value: T }

private func decoded<T: Codable>(_ type: T.Type, _ value: Any) throws -> T {
    try FirestoreDecoder().decode(Box<T>.self, from: ["value": value]).value
}

@Suite("Decoding of data")
struct FirestoreDecoderTests {
    @Test("Numbers convert to every type that can hold them, boxed or native")
    func numbers() throws {
        for number: Any in [5, 5.0, Int8(5), UInt64(5), Float(5), NSNumber(value: 5)] {
            #expect(try decoded(Int.self, number) == 5)
            #expect(try decoded(Int8.self, number) == 5)
            #expect(try decoded(Int16.self, number) == 5)
            #expect(try decoded(Int32.self, number) == 5)
            #expect(try decoded(Int64.self, number) == 5)
            #expect(try decoded(UInt.self, number) == 5)
            #expect(try decoded(UInt8.self, number) == 5)
            #expect(try decoded(UInt16.self, number) == 5)
            #expect(try decoded(UInt32.self, number) == 5)
            #expect(try decoded(UInt64.self, number) == 5)
            #expect(try decoded(Double.self, number) == 5)
            #expect(try decoded(Float.self, number) == 5)
            #expect(try decoded(Decimal.self, number) == 5)
        }
        #expect(try decoded(UInt64.self, UInt64.max) == .max)
        #expect(try decoded(UInt64.self, NSNumber(value: UInt64.max)) == .max)
        #expect(try decoded(Decimal.self, 0.1) == Decimal(string: "0.1"))
    }

    @Test("A class is decoded as what the metatype says, which may be a subclass")
    func subclasses() throws {
        class Base: Codable {
            var name = ""
        }
        final class Derived: Base {
            var number = 0

            private enum CodingKeys: CodingKey { case number }

            required init(from decoder: any Decoder) throws {
                number = try decoder.container(keyedBy: CodingKeys.self)
                    .decode(Int.self, forKey: .number)
                try super.init(from: decoder)
            }
        }
        let type: Base.Type = Derived.self
        let decoded = try FirestoreDecoder().decode(type, from: ["name": "a", "number": 7])
        #expect((decoded as? Derived)?.number == 7 && decoded.name == "a")
    }

    @Test("Numbers out of range or with a fraction are dataCorrupted")
    func numbersOutOfRange() {
        func isCorrupted<T: Codable>(_ type: T.Type, _ value: Any) -> Bool {
            do {
                _ = try decoded(type, value)
                return false
            } catch DecodingError.dataCorrupted {
                return true
            } catch {
                return false
            }
        }
        #expect(isCorrupted(Int8.self, 128))
        #expect(isCorrupted(UInt.self, -1))
        #expect(isCorrupted(Int.self, 1.5))
        #expect(isCorrupted(Int.self, 1e300))
        #expect(isCorrupted(Int64.self, Double.nan))
        #expect(isCorrupted(Int64.self, NSNumber(value: UInt64.max)))
    }

    @Test("Booleans and numbers are not interchangeable")
    func booleans() throws {
        #expect(try decoded(Bool.self, true) == true)
        #expect(try decoded(Bool.self, NSNumber(value: false)) == false)
        #expect(throws: DecodingError.self) { try decoded(Bool.self, 1) }
        #expect(throws: DecodingError.self) { try decoded(Bool.self, NSNumber(value: 1)) }
        #expect(throws: DecodingError.self) { try decoded(Int.self, true) }
        #expect(throws: DecodingError.self) { try decoded(Double.self, NSNumber(value: true)) }
    }

    @Test("Errors are DecodingErrors whose cases can be matched, with the path")
    func errors() throws {
        struct Outer: Codable { var list: [Box<Int>] }
        do {
            _ = try FirestoreDecoder().decode(
                Outer.self, from: ["list": [["value": 1], ["value": "x"]]])
            Issue.record("nothing was thrown")
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["list", "Index 1", "value"])
        }
        do {
            _ = try FirestoreDecoder().decode(Outer.self, from: ["list": [["other": 1]]])
            Issue.record("nothing was thrown")
        } catch DecodingError.keyNotFound(let key, let context) {
            #expect(key.stringValue == "value")
            #expect(context.codingPath.map(\.stringValue) == ["list", "Index 0"])
        }
        do {
            _ = try FirestoreDecoder().decode(Outer.self, from: ["list": NSNull()])
            Issue.record("nothing was thrown")
        } catch DecodingError.valueNotFound {
        }
    }

    @Test("Null and missing fields are nil for optionals")
    func optionals() throws {
        struct Optionals: Codable { var a: Int?, b: String?, c: Date?, d: [Int?] }
        let value = try FirestoreDecoder().decode(
            Optionals.self, from: ["a": NSNull(), "d": [1, NSNull(), 3] as [Any]])
        #expect(value.a == nil && value.b == nil && value.c == nil)
        #expect(value.d == [1, nil, 3])
    }

    @Test("A document that does not exist is nil for an optional type and an error for others")
    func missingDocument() throws {
        let decoder = FirestoreDecoder()
        let none = try decoder.decode(Box<Int>?.self, fromValue: NSNull(), reference: nil)
        #expect(none == nil)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Box<Int>.self, fromValue: NSNull(), reference: nil)
        }
    }

    @Test("Pass-through types are not converted")
    func passthrough() throws {
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        #expect(try decoded(Timestamp.self, time) == time)
        #expect(try decoded(VectorValue.self, VectorValue([1])) == [1])
        #expect(throws: DecodingError.self) { try decoded(GeoPoint.self, ["latitude": 1.0]) }
        #expect(throws: DecodingError.self) { try decoded(URL.self, "") }
    }

    @Test("With other coders timestamps, geo points and vectors have fields, and are checked")
    func otherCoders() throws {
        struct Plain: Codable, Equatable {
            var time = Timestamp(seconds: -5, nanoseconds: 7)
            var place = GeoPoint(latitude: 1.5, longitude: -2)
            var vector = VectorValue([1, 2])
        }
        let json = try JSONEncoder().encode(Plain())
        #expect(try JSONDecoder().decode(Plain.self, from: json) == Plain())
        let text = String(decoding: json, as: UTF8.self)
        for part in ["\"seconds\":-5", "\"nanoseconds\":7", "\"latitude\":1.5", "\"array\":[1,2]"] {
            #expect(text.contains(part))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(
                GeoPoint.self, from: Data(#"{"latitude": 91, "longitude": 0}"#.utf8))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(
                Timestamp.self, from: Data(#"{"seconds": 1, "nanoseconds": -1}"#.utf8))
        }
        #expect(throws: FirestoreEncodingError.self) {
            try JSONEncoder().encode(FieldValue.delete())
        }
    }

    @Test("Data of any shape is decoded: arrays, single values, and values of fields")
    func shapes() throws {
        let decoder = FirestoreDecoder()
        let fields: [String: Any] = ["numbers": [1, 2], "box": ["value": "x"], "null": NSNull()]
        #expect(try decoder.decode([Int].self, from: fields["numbers"] as Any) == [1, 2])
        #expect(try decoder.decode(Box<String>.self, from: fields["box"] as Any).value == "x")
        #expect(try decoder.decode(Int.self, from: 5) == 5)
        #expect(try decoder.decode(Int?.self, from: fields["none"] as Any) == nil)
        #expect(try decoder.decode(Int?.self, from: fields["null"] as Any) == nil)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Int.self, from: fields["none"] as Any)
        }
    }

    @Test("Values that only Firestore's coders support fail by case with others")
    func unsupported() throws {
        let reference = try memoryDatabase().document("a/b")
        do {
            _ = try JSONEncoder().encode([reference])
            Issue.record("encoded")
        } catch FirestoreEncodingError.encodingIsNotSupported(let text) {
            #expect(text.contains("DocumentReference"))
        }
    }
}
