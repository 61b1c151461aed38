import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import Larder

private struct Box<T: Codable & Equatable>: Codable, Equatable { var value: T }

@Suite("Strategies of the encoder and the decoder")
struct CodingStrategyTests {
    private let date = Date(timeIntervalSince1970: 1_600_000_000)

    private func encoded<T>(_ value: T, _ set: (FirestoreEncoder) -> Void) throws -> Any?
    where T: Codable & Equatable {
        let encoder = FirestoreEncoder()
        set(encoder)
        return try encoder.encode(Box(value: value))["value"]
    }

    private func decoded<T>(
        _ type: T.Type, _ data: Any, _ set: (FirestoreDecoder) -> Void
    ) throws -> T where T: Codable & Equatable {
        let decoder = FirestoreDecoder()
        set(decoder)
        return try decoder.decode(Box<T>.self, from: ["value": data]).value
    }

    @Test("Defaults: dates are timestamps, Data is bytes, infinities fail, keys stay")
    func defaults() throws {
        #expect(try encoded(date) { _ in } as? Timestamp == Timestamp(date: date))
        #expect(try encoded(Data([1])) { _ in } as? Data == Data([1]))
        #expect(throws: EncodingError.self) { try encoded(Double.nan) { _ in } }
        #expect(throws: EncodingError.self) { try encoded(-Float.infinity) { _ in } }
    }

    @Test("Dates in every form")
    func dates() throws {
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.locale = Locale(identifier: "en_US_POSIX")

        #expect(
            try encoded(date) { $0.dateEncodingStrategy = .secondsSince1970 } as? Double == 1.6e9)
        #expect(
            try encoded(date) { $0.dateEncodingStrategy = .millisecondsSince1970 } as? Double
                == 1.6e12)
        #expect(
            try encoded(date) { $0.dateEncodingStrategy = .deferredToDate } as? Double
                == date.timeIntervalSinceReferenceDate)
        #expect(
            try encoded(date) { $0.dateEncodingStrategy = .iso8601 } as? String
                == "2020-09-13T12:26:40Z")
        #expect(
            try encoded(date) { $0.dateEncodingStrategy = .formatted(formatter) } as? String
                == "2020-09-13 12:26:40")
        #expect(
            try encoded(date) {
                $0.dateEncodingStrategy = .custom { _, encoder in
                    var container = encoder.singleValueContainer()
                    try container.encode("a date")
                }
            } as? String == "a date")

        #expect(
            try decoded(Date.self, 1_600_000_000) { $0.dateDecodingStrategy = .secondsSince1970 }
                == date)
        #expect(
            try decoded(Date.self, NSNumber(value: 1.6e12)) {
                $0.dateDecodingStrategy = .millisecondsSince1970
            } == date)
        #expect(
            try decoded(Date.self, date.timeIntervalSinceReferenceDate) {
                $0.dateDecodingStrategy = .deferredToDate
            } == date)
        #expect(
            try decoded(Date.self, "2020-09-13T12:26:40Z") { $0.dateDecodingStrategy = .iso8601 }
                == date)
        #expect(
            try decoded(Date.self, "2020-09-13 12:26:40") {
                $0.dateDecodingStrategy = .formatted(formatter)
            } == date)
        #expect(
            try decoded(Date.self, 7) {
                $0.dateDecodingStrategy = .custom { decoder in
                    Date(
                        timeIntervalSince1970: try decoder.singleValueContainer().decode(
                            Double.self))
                }
            } == Date(timeIntervalSince1970: 7))
        #expect(throws: DecodingError.self) { try decoded(Date.self, 5) { _ in } }
        #expect(throws: DecodingError.self) {
            try decoded(Date.self, "no date") { $0.dateDecodingStrategy = .iso8601 }
        }
        #expect(throws: EncodingError.self) { try encoded(Date.distantFuture + 1e15) { _ in } }
    }

    @Test("Data in every form")
    func bytes() throws {
        let data = Data([0, 255, 7])
        #expect(try encoded(data) { $0.dataEncodingStrategy = .base64 } as? String == "AP8H")
        let numbers = try encoded(data) { $0.dataEncodingStrategy = .deferredToData } as? [Any]
        #expect(numbers?.map { $0 as? Int } == [0, 255, 7])
        #expect(
            try encoded(data) {
                $0.dataEncodingStrategy = .custom { data, encoder in
                    var container = encoder.unkeyedContainer()
                    try container.encode(data.count)
                }
            } as? [Int] == [3])
        #expect(
            try decoded(Data.self, "AP8H") { $0.dataDecodingStrategy = .base64 } == data)
        #expect(
            try decoded(Data.self, [0, 255, 7]) { $0.dataDecodingStrategy = .deferredToData }
                == data)
        #expect(
            try decoded(Data.self, "x") { $0.dataDecodingStrategy = .custom { _ in data } } == data)
        #expect(throws: DecodingError.self) {
            try decoded(Data.self, "?") { $0.dataDecodingStrategy = .base64 }
        }
        // As Apple's decoder, which reads bytes and Base64 with either strategy.
        #expect(try decoded(Data.self, "AP8H") { _ in } == data)
        #expect(try decoded(Data.self, data) { $0.dataDecodingStrategy = .base64 } == data)
        #expect(throws: DecodingError.self) { try decoded(Data.self, "?") { _ in } }
        #expect(throws: DecodingError.self) { try decoded(Data.self, 7) { _ in } }
    }

    @Test("Infinities and NaN as strings, and stored ones as they are")
    func nonConformingFloats() throws {
        let names = FirestoreEncoder.NonConformingFloatEncodingStrategy.convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        let text = FirestoreDecoder.NonConformingFloatDecodingStrategy.convertFromString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        for (number, name) in [(Double.infinity, "+"), (-.infinity, "-"), (.nan, "?")] {
            #expect(
                try encoded(number) { $0.nonConformingFloatEncodingStrategy = names } as? String
                    == name)
            let back = try decoded(Double.self, name) {
                $0.nonConformingFloatDecodingStrategy = text
            }
            #expect(back == number || back.isNaN && number.isNaN)
            let stored = try decoded(Float.self, number) { _ in }
            #expect(Double(stored) == number || stored.isNaN && number.isNaN)
        }
        #expect(throws: DecodingError.self) { try decoded(Double.self, "+") { _ in } }
        #expect(throws: DecodingError.self) { try decoded(Float.self, 1e300) { _ in } }
    }

    @Test("Snake case is JSONEncoder's and JSONDecoder's")
    func snakeCase() throws {
        var random = SeededRandom(seed: 20_261_121)
        let letters = ["a", "b", "X", "Y", "1", "_", "é", "Ä"]
        let fixed = [
            "oneTwoThree", "myURLProperty", "URL", "a", "", "_a", "a_", "aB1C", "_one_two_",
        ]
        let made = (0..<500).map { _ in
            (0..<Int.random(in: 1...9, using: &random)).map { _ in
                letters.randomElement(using: &random) ?? "a"
            }.joined()
        }
        for name in fixed + made {
            #expect(SnakeCase.encoding(name) == (try jsonName(of: name)), "\(name)")
            #expect(SnakeCase.decoding(name) == (try jsonKey(of: name)), "\(name)")
        }
    }

    @Test("Keys of properties are converted, keys of dictionaries are not")
    func keyStrategies() throws {
        struct Inner: Codable, Equatable { var twoWords = 1 }
        struct Outer: Codable, Equatable {
            var innerPart = Inner()
            var byName = ["keyOfData": Inner()]
        }
        let encoder = FirestoreEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let data = try encoder.encode(Outer())
        #expect(Set(data.keys) == ["inner_part", "by_name"])
        #expect((data["inner_part"] as? [String: Int]) == ["two_words": 1])
        #expect((data["by_name"] as? [String: [String: Int]]) == ["keyOfData": ["two_words": 1]])
        let decoder = FirestoreDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(Outer.self, from: data) == Outer())

        encoder.keyEncodingStrategy = .custom { path in
            PlainKey(stringValue: path.map(\.stringValue).joined(separator: "/"))
        }
        let custom = try encoder.encode(Outer())
        #expect((custom["innerPart"] as? [String: Int]) == ["innerPart/twoWords": 1])
        decoder.keyDecodingStrategy = .custom { path in
            PlainKey(stringValue: String(path.last?.stringValue.split(separator: "/").last ?? ""))
        }
        #expect(try decoder.decode(Outer.self, from: custom) == Outer())
    }

    @Test("userInfo reaches the values")
    func userInfo() throws {
        struct Seeing: Codable {
            static let key = CodingUserInfoKey(rawValue: "seen")
            let seen: String
            init() { seen = "" }
            init(from decoder: any Decoder) throws {
                seen = Self.key.flatMap { decoder.userInfo[$0] as? String } ?? "none"
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode([
                    "seen": Self.key.flatMap { encoder.userInfo[$0] as? String } ?? "none"
                ])
            }
        }
        let key = try #require(Seeing.key)
        let (encoder, decoder) = (FirestoreEncoder(), FirestoreDecoder())
        encoder.userInfo[key] = "by the encoder"
        decoder.userInfo[key] = "by the decoder"
        #expect(try encoder.encode(Seeing())["seen"] as? String == "by the encoder")
        #expect(try decoder.decode(Seeing.self, from: [:]).seen == "by the decoder")
    }

    private func jsonName(of name: String) throws -> String? {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let json = try encoder.encode(AnyName(name: name))
        return try JSONDecoder().decode([String: Int].self, from: json).keys.first
    }

    private func jsonKey(of name: String) throws -> String? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(AnyName.self, from: JSONEncoder().encode([name: 1])).name
    }
}

/// One property of any name.
private struct AnyName: Codable {
    var name: String

    init(name: String) { self.name = name }

    init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: PlainKey.self).allKeys.first?.stringValue ?? ""
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PlainKey.self)
        try container.encode(1, forKey: PlainKey(stringValue: name))
    }
}
