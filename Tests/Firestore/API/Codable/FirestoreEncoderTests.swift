import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import Larder

private enum Kind: String, Codable { case town, village }

private struct Place: Codable, Equatable {
    struct Part: Codable, Equatable {
        var name: String
        var weight: Double?
    }

    var name = "Bern"
    var kind = Kind.town
    var count = 3
    var small = Int8(-4)
    var large = UInt32.max
    var share = Float(0.25)
    var area = 51.6
    var isCapital = true
    var founded = Date(timeIntervalSince1970: -24_000_000_000)
    var seen = Timestamp(seconds: 5, nanoseconds: 6000)
    var position = GeoPoint(latitude: 46.9, longitude: 7.4)
    var embedding = VectorValue([0.5, -1])
    var site = URL(string: "https://example.org/bern")
    var price = Decimal(string: "12.35")
    var flag = Data([1, 2, 3])
    var missing: String?
    var tags = ["old", "river"]
    var parts = [Part(name: "a", weight: 1.5), Part(name: "b", weight: nil)]
    var byName = ["x": Part(name: "c", weight: 2), "Snake Case": Part(name: "d", weight: nil)]
    var rows = [[1, 2], [3]]
    var nothing: [String] = []
}

/// The value that a decoder makes of what an encoder made.
private func roundTrip<T: Codable>(
    _ value: T, _ encoder: FirestoreEncoder = .init(), _ decoder: FirestoreDecoder = .init()
) throws -> T {
    try decoder.decode(T.self, from: encoder.encode(value))
}

@Suite("Values of Codable types to data and back")
struct FirestoreEncoderTests {
    @Test("A complex value survives a round trip")
    func richValue() throws {
        #expect(try roundTrip(Place()) == Place())
    }

    @Test("A complex value survives being stored and read back")
    func throughARecord() throws {
        var place = Place()
        place.rows = []  // arrays in arrays cannot be stored
        let stored = try Sample.record(FirestoreEncoder().encode(place))
        let read = Sample.writer().fields(of: stored)
        #expect(try FirestoreDecoder().decode(Place.self, from: read) == place)
    }

    @Test("Data holds pass-through types as they are, numbers as NSNumber, nil not at all")
    func encodedForms() throws {
        let data = try FirestoreEncoder().encode(Place())
        #expect(data["seen"] as? Timestamp == Place().seen)
        #expect(data["founded"] is Timestamp)
        #expect(data["position"] as? GeoPoint == Place().position)
        #expect(data["embedding"] as? VectorValue == Place().embedding)
        #expect(data["flag"] as? Data == Place().flag)
        #expect(data["site"] as? String == "https://example.org/bern")
        #expect(data["kind"] as? String == "town")
        #expect(data["small"] as? Int == -4)
        #expect(data["count"] as? Double == 3)
        #expect(data["isCapital"] as? Bool == true)
        #expect(data.keys.contains("missing") == false)
        #expect((data["parts"] as? [Any])?.count == 2)
    }

    @Test("An Int8 of 1 is a number and not a boolean")
    func smallIntegers() throws {
        struct Small: Codable, Equatable { var one = Int8(1), zero = UInt8(0), yes = true }
        let fields = try Sample.fields(FirestoreEncoder().encode(Small()))
        #expect(fields == ["one": 1, "zero": 0, "yes": true])
    }

    @Test("Values other than maps are rejected at the top level")
    func topLevel() {
        let encoder = FirestoreEncoder()
        #expect(throws: EncodingError.self) { try encoder.encode(5) }
        #expect(throws: EncodingError.self) { try encoder.encode(["a"]) }
        #expect(throws: EncodingError.self) { try encoder.encode(Date()) }
        #expect(throws: EncodingError.self) { try encoder.encode(Optional<Place>.none) }
        #expect(throws: Never.self) { try encoder.encode(["a": 1]) }
    }

    @Test("An empty struct is an empty map, at the top level and inside")
    func emptyStruct() throws {
        struct Empty: Codable {}
        struct Outer: Codable { var inner = Empty() }
        #expect(try FirestoreEncoder().encode(Empty()).isEmpty)
        let inner = try FirestoreEncoder().encode(Outer())["inner"] as? [String: Any]
        #expect(inner?.isEmpty == true)
    }

    @Test(
        "Enumerations with payloads, classes with superclasses and nested containers survive a round trip"
    )
    func containers() throws {
        enum Shape: Codable, Equatable { case circle(radius: Double), named(String), none }
        struct Shapes: Codable, Equatable {
            var all = [Shape.circle(radius: 2), .named("x"), .none]
        }
        #expect(try roundTrip(Shapes()) == Shapes())
        let child = try roundTrip(Child(base: 4, own: "five"))
        #expect(child.base == 4 && child.own == "five")
        #expect(try roundTrip(Nested()) == Nested())
    }

    @Test("Hostile depth is an error, in values and in data")
    func depth() throws {
        let value = (0..<3000).reduce(Chain(next: nil)) { chain, _ in Chain(next: chain) }
        #expect(throws: EncodingError.self) { try FirestoreEncoder().encode(value) }
        let data = (0..<3000).reduce([String: Any]()) { data, _ in ["next": data] }
        #expect(throws: DecodingError.self) {
            try FirestoreDecoder().decode(Chain.self, from: data)
        }
    }
}

private final class Chain: Codable {
    let next: Chain?
    init(next: Chain?) { self.next = next }
}

private class Base: Codable {
    var base: Int
    init(base: Int) { self.base = base }
}

private final class Child: Base {
    var own: String

    enum Key: CodingKey { case own }

    init(base: Int, own: String) {
        self.own = own
        super.init(base: base)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        own = try container.decode(String.self, forKey: .own)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(own, forKey: .own)
        try super.encode(to: container.superEncoder())
    }
}

/// Encodes itself through nested containers of every kind.
private struct Nested: Codable, Equatable {
    var numbers = [1, 2, 3]
    var text = "deep"

    enum Key: CodingKey { case list, map, more }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        numbers = []
        #expect(list.count == 4)
        while list.currentIndex < 3 { numbers.append(try list.decode(Int.self)) }
        var inner = try list.nestedUnkeyedContainer()
        #expect(try inner.decodeNil())
        #expect(inner.isAtEnd && list.isAtEnd)
        #expect(throws: DecodingError.self) { try list.decode(Int.self) }
        let map = try container.nestedContainer(keyedBy: Key.self, forKey: .map)
            .nestedContainer(keyedBy: Key.self, forKey: .more)
        text = try map.decode(String.self, forKey: .map)
        #expect(map.codingPath.map(\.stringValue) == ["map", "more"])
        #expect(map.allKeys == [.map])
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        for number in numbers { try list.encode(number) }
        var inner = list.nestedUnkeyedContainer()
        try inner.encodeNil()
        var map = container.nestedContainer(keyedBy: Key.self, forKey: .map)
        var more = map.nestedContainer(keyedBy: Key.self, forKey: .more)
        try more.encode(text, forKey: .map)
        #expect(more.codingPath.map(\.stringValue) == ["map", "more"])
    }
}
