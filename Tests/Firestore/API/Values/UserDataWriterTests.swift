import Foundation
import LarderModel
import Testing

@testable import Larder

@Suite("Conversion of stored values")
struct UserDataWriterTests {
    private func read(
        _ fields: MapValue, _ behavior: ServerTimestampBehavior = .none
    ) throws -> [String: Any] {
        Sample.writer(behavior).fields(of: try Record(fields))
    }

    @Test("Every stored type has its Swift form")
    func forms() throws {
        let time = Timestamp(seconds: 1, nanoseconds: 2000)
        let name = ResourceName(database: Sample.database, document: try Sample.path())
        let data = try read([
            "null": .null, "text": "a", "bytes": .bytes([1, 2]), "time": .timestamp(time),
            "place": .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "vector": .vector([1, 2]),
            "array": [1, "a", .null], "map": ["x": ["y": 2.5]], "reference": .reference(name),
            "empty": .bytes([]), "none": [], "nothing": .map([:]),
        ])
        #expect(data["null"] is NSNull)
        #expect(data["text"] as? String == "a")
        #expect(data["bytes"] as? Data == Data([1, 2]))
        #expect(data["empty"] as? Data == Data())
        #expect(data["time"] as? Timestamp == time)
        #expect(data["place"] as? GeoPoint == GeoPoint(latitude: 1, longitude: 2))
        #expect((data["vector"] as? VectorValue)?.array == [1, 2])
        #expect((data["array"] as? [Any])?.count == 3)
        #expect((data["none"] as? [Any])?.isEmpty == true)
        #expect((data["nothing"] as? [String: Any])?.isEmpty == true)
        #expect((data["map"] as? [String: [String: Double]])?["x"] == ["y": 2.5])
        #expect((data["reference"] as? ReferenceStub)?.resourceName == name)
        #expect(data.count == 12)
    }

    @Test("Numbers and booleans cast as on Apple's platforms")
    func casts() throws {
        let data = try read([
            "one": 1, "two": 2, "yes": true, "no": false, "half": 1.5, "whole": 3.0,
        ])
        #expect(data["two"] as? Int == 2)
        #expect(data["two"] as? Int64 == 2)
        #expect(data["two"] as? Double == 2)
        #expect(data["two"] as? TimeInterval == 2)
        #expect(data["two"] as? Float == 2)
        #expect(data["two"] as? UInt8 == 2)
        #expect(data["two"] as? NSNumber == 2)
        #expect(data["two"] as? String == nil)
        #expect(data["one"] as? Bool == true)
        #expect(data["yes"] as? Bool == true)
        #expect(data["no"] as? Bool == false)
        #expect(data["yes"] as? Int == 1)
        #expect(data["half"] as? Double == 1.5)
        #expect(data["half"] as? Int == nil)
        #expect(data["whole"] as? Int == 3)
        #expect(data["half"] as? NSNumber == 1.5)
    }

    @Test("Data that was read can be written again unchanged")
    func readAndWrittenAgain() throws {
        let fields: MapValue = [
            "one": 1, "one point": 1.0, "yes": true, "no": false, "zero": 0, "huge": .integer(.max),
            "nan": .double(.nan), "minus zero": .double(-0.0), "infinite": .double(.infinity),
            "text": "é", "bytes": .bytes([9]), "vector": .vector([]), "null": .null,
            "reference": .reference(
                ResourceName(database: Sample.database, document: try Sample.path())),
            "nested": ["a": [1, ["b": true]]],
        ]
        #expect(try Sample.fields(read(fields)) == fields)
    }

    @Test("Pending server timestamps read as the behaviour asks, also inside maps and arrays")
    func serverTimestamps() throws {
        let time = Timestamp(seconds: 7, nanoseconds: 0)
        let over = PendingServerTimestamp(localWriteTime: time, previous: "before")
        let fresh = PendingServerTimestamp(localWriteTime: time)
        let fields: MapValue = [
            "over": .serverTimestamp(over), "fresh": .serverTimestamp(fresh),
            "map": ["over": .serverTimestamp(over)],
        ]
        let none = try read(fields, .none)
        #expect(none["over"] is NSNull && none["fresh"] is NSNull)
        let estimate = try read(fields, .estimate)
        #expect(estimate["over"] as? Timestamp == time && estimate["fresh"] as? Timestamp == time)
        let previous = try read(fields, .previous)
        #expect(previous["over"] as? String == "before" && previous["fresh"] is NSNull)
        #expect((previous["map"] as? [String: Any])?["over"] as? String == "before")
        #expect((none["map"] as? [String: Any])?["over"] is NSNull)
        #expect((estimate["map"] as? [String: Any])?["over"] as? Timestamp == time)
    }

    @Test("One field, at the top or inside, and nothing for a missing one")
    func oneField() throws {
        let record = try Record(["a": ["b": 5], "n": .null])
        let writer = Sample.writer()
        func value(_ path: Any) throws -> Any? {
            writer.value(at: try Larder.FieldPath.resolving(path), in: record)
        }
        #expect(try value("a.b") as? Int == 5)
        #expect(try value(Larder.FieldPath(["a", "b"])) as? Int == 5)
        #expect(try value("n") is NSNull)
        #expect(try value("a.c") == nil)
        #expect(try value("n.c") == nil)
    }

    @Test("Values in memory are handed over in the same forms")
    func valuesInMemory() throws {
        let writer = Sample.writer(.previous)
        let pending = PendingServerTimestamp(
            localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), previous: 4)
        let map = writer.value(.map(["a": [1, .serverTimestamp(pending)], "b": true, "c": .null]))
        let data = try #require(map as? [String: Any])
        #expect((data["a"] as? [Int]) == [1, 4])
        #expect(data["b"] as? Bool == true)
        #expect(data["c"] is NSNull)
    }
}
