import Foundation
import LarderModel
import Testing

@testable import Larder

@Suite("1.1, 9.5: what applications' values are stored as")
struct ValuesReadingTests {
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
}
