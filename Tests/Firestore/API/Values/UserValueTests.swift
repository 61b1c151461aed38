import Foundation
import LarderModel
import Testing

@testable import Larder

@Suite("Conversion of application values")
struct UserValueTests {
    @Test("Every native type has its stored form")
    func nativeTypes() throws {
        let date = Date(timeIntervalSince1970: 1.5)
        let fields = try Sample.fields([
            "bool": true, "int": 1, "int8": Int8(-8), "uint8": UInt8(8), "int16": Int16(16),
            "uint16": UInt16(16), "int32": Int32(32), "uint32": UInt32.max, "int64": Int64.min,
            "uint64": UInt64(64), "uint": UInt(7), "float": Float(0.5), "double": 1.0,
            "cgfloat": CGFloat(2.5), "string": "text", "substring": "text".prefix(2),
            "data": Data([1, 2]), "date": date, "null": NSNull(),
            "time": Timestamp(seconds: 3, nanoseconds: 4000),
            "place": GeoPoint(latitude: 1, longitude: 2), "vector": VectorValue([1, 2]),
            "optional": Optional<Int>.some(5) as Any, "decimal": Decimal(string: "2.25") as Any,
            "reference": try ReferenceStub("a/b"),
        ])
        let expected: MapValue = [
            "bool": true, "int": 1, "int8": -8, "uint8": 8, "int16": 16, "uint16": 16,
            "int32": 32, "uint32": .integer(Int64(UInt32.max)), "int64": .integer(.min),
            "uint64": 64, "uint": 7, "float": 0.5, "double": 1.0, "cgfloat": 2.5,
            "string": "text", "substring": "te", "data": .bytes([1, 2]),
            "date": .timestamp(Timestamp(seconds: 1, nanoseconds: 500_000_000)), "null": .null,
            "time": .timestamp(Timestamp(seconds: 3, nanoseconds: 4000)),
            "place": .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            "vector": .vector([1, 2]), "optional": 5, "decimal": 2.25,
            "reference": .reference(
                ResourceName("projects/demo/databases/(default)/documents/a/b")),
        ]
        #expect(fields == expected)
    }

    @Test("Decimals are the nearest doubles, boxed or not")
    func decimals() throws {
        for text in ["4.06", "0.07", "-2.675", "1234567.89"] {
            let decimal = try #require(Decimal(string: text))
            let fields = try Sample.fields([
                "a": decimal, "b": NSDecimalNumber(decimal: decimal), "c": [decimal],
            ])
            let expected = Value.double(try #require(Double(text)))
            #expect(fields == ["a": expected, "b": expected, "c": .array([expected])])
        }
    }

    @Test("Boxed numbers keep their type")
    func boxedNumbers() throws {
        let json = try JSONSerialization.jsonObject(
            with: Data(#"{"t": true, "one": 1, "d": 1.5, "list": [0, false]}"#.utf8))
        var data = try #require(json as? [String: Any])
        data["no"] = NSNumber(value: false)
        data["zero"] = NSNumber(value: 0)
        data["small"] = NSNumber(value: Int16(-3))
        data["unsigned"] = NSNumber(value: UInt64(9))
        data["float"] = NSNumber(value: Float(0.5))
        data["literal"] = 5 as NSNumber
        #expect(
            try Sample.fields(data) == [
                "t": true, "one": 1, "d": 1.5, "list": [0, false], "no": false, "zero": 0,
                "small": -3, "unsigned": 9, "float": 0.5, "literal": 5,
            ])
    }

    @Test("Foundation's classes and typed collections are taken")
    func collections() throws {
        let fields = try Sample.fields([
            "ints": [1, 2], "bytes": [UInt8(1), 255], "map": ["a": 1.5], "bools": [true],
            "nested": ["a": ["b": [Timestamp(seconds: 1, nanoseconds: 0)]]],
            "optionals": [Optional.some("x")], "anyKeys": ["k": 1] as [AnyHashable: Any],
            "text": NSString(string: "n"), "data": NSData(data: Data([7])),
            "array": NSArray(array: [NSNumber(value: 1), NSString(string: "s")]),
            "dictionary": NSDictionary(dictionary: ["k": NSNull()]),
        ])
        #expect(
            fields == [
                "ints": [1, 2], "bytes": [1, 255], "map": ["a": 1.5], "bools": [true],
                "nested": ["a": ["b": [.timestamp(Timestamp(seconds: 1, nanoseconds: 0))]]],
                "optionals": ["x"], "anyKeys": ["k": 1], "text": "n", "data": .bytes([7]),
                "array": [1, "s"], "dictionary": ["k": .null],
            ])
    }

    @Test("Structures that were converted to AnyObject are what they were")
    func boxes() throws {
        let time = Timestamp(seconds: 3, nanoseconds: 4567)
        let (place, vector) = (GeoPoint(latitude: 1, longitude: 2), VectorValue([1, 2]))
        let values: [(Any, Value)] = [
            (time as AnyObject, .timestamp(Timestamp(seconds: 3, nanoseconds: 4000))),
            (place as AnyObject, .geoPoint(place)), (vector as AnyObject, .vector(vector)),
            ("text".prefix(2) as AnyObject, "te"), (Int128(5) as AnyObject, 5),
            (
                Date(timeIntervalSince1970: 1) as AnyObject,
                .timestamp(Timestamp(seconds: 1, nanoseconds: 0))
            ),
            (Data([1]) as AnyObject, .bytes([1])), (5 as AnyObject, 5), (true as AnyObject, true),
            (2.25 as AnyObject, 2.25), (NSNull() as AnyObject, .null),
            (
                [time, place] as AnyObject,
                [.timestamp(Timestamp(seconds: 3, nanoseconds: 4000)), .geoPoint(place)]
            ),
            (["a": vector] as AnyObject, ["a": .vector(vector)]),
        ]
        for (value, expected) in values {
            #expect(try Sample.fields(["v": value]) == ["v": expected], "\(expected)")
            #expect(try Sample.fields(["v": Optional(value) as Any]) == ["v": expected])
            var parser = try UserValueParser(.query(nestedArrays: true))
            #expect(try parser.value(value) == expected, "\(expected)")
        }
        let stored = try Sample.fields(["a": [time as AnyObject, ["b": place as AnyObject]]])
        #expect(
            stored == [
                "a": [
                    .timestamp(Timestamp(seconds: 3, nanoseconds: 4000)), ["b": .geoPoint(place)],
                ]
            ])
        struct Other {}
        #expect(throws: LarderError.self) { try Sample.fields(["v": Other() as AnyObject]) }
    }

    @Test("Timestamps are cut to microseconds, also before 1970 and in unions")
    func microseconds() throws {
        let fields = try Sample.fields([
            "late": Timestamp(seconds: 1, nanoseconds: 123_456_789),
            "early": Timestamp(seconds: -1, nanoseconds: 999_999_999),
        ])
        #expect(fields["late"] == .timestamp(Timestamp(seconds: 1, nanoseconds: 123_456_000)))
        #expect(fields["early"] == .timestamp(Timestamp(seconds: -1, nanoseconds: 999_999_000)))
        let union = try Sample.reader.update(
            ["a": FieldValue.arrayUnion([Timestamp(seconds: 1, nanoseconds: 1)])],
            at: Sample.path())
        #expect(
            union.transforms.map(\.operation)
                == [.arrayUnion([.timestamp(Timestamp(seconds: 1, nanoseconds: 0))])])
    }

    @Test("Values have the members of Apple's")
    func additions() {
        let early = Timestamp(seconds: 1, nanoseconds: 5)
        #expect(early.compare(Timestamp(seconds: 1, nanoseconds: 6)) == .orderedAscending)
        #expect(early.compare(early) == .orderedSame)
        #expect(abs(Timestamp().dateValue().timeIntervalSinceNow) < 60)
        #expect(VectorValue([1, 2]).array == [1, 2])
        #expect(
            GeoPoint(latitude: 1, longitude: 2).compare(GeoPoint(latitude: 1, longitude: 1))
                == .orderedDescending)
        #expect(Larder.FieldPath(["a", "b.c"]).description == "a.`b.c`")
        #expect(Larder.FieldPath(["é"]) != Larder.FieldPath(["e\u{301}"]))
    }
}
