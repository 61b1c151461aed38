import Foundation
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Codable values")
struct DatabaseCodingTests {
    struct Player: Codable, Equatable {
        var name: String
        var score: Int
        var ratio = 0.5
        var isOnline = true
        var tags: [String] = []
        var nickname: String?
        var best: [String: Int] = [:]
    }

    struct Message: Codable {
        var text: String
        @ServerTimestamp var sent: Date?
    }

    @Test("Values are written and read back")
    func roundTrip() throws {
        let test = try DatabaseUnderTest()
        let reference = test.database.reference(withPath: "players/ada")
        let ada = Player(name: "Ada", score: 42, tags: ["x", "y"], best: ["level": 3])
        try reference.setValue(from: ada) { test.note("\($0 as Any)") }
        reference.observeSingleEvent(of: .value) { snapshot in
            // Empty arrays and dictionaries do not exist in the tree.
            let player = try? snapshot.data(as: Player.self)
            test.note("\(player == ada)")
            #expect((snapshot.value as? [String: Any])?["isOnline"] as? Bool == true)
        }
        #expect(test.read() == ["true"])
    }

    @Test("Characters of all planes are written and read back")
    func planes() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let (name, text) = (random.nameOfAllPlanes(), random.textOfAllPlanes())
            let value = try Database.Encoder().encode([name: text])
            let decoded = try Database.Decoder().decode([String: String].self, from: value)
            #expect(decoded.first?.key.utf8.elementsEqual(name.utf8) == true, "\(random)")
            #expect(decoded.first?.value.utf8.elementsEqual(text.utf8) == true, "\(random)")
        }
    }

    @Test("Single values and arrays are values, too")
    func fragments() throws {
        let encoder = Database.Encoder()
        #expect(try encoder.encode(3) as? Int == 3)
        #expect(try encoder.encode("a") as? String == "a")
        #expect(try encoder.encode([true]) as? [Bool] == [true])
        let decoder = Database.Decoder()
        #expect(try decoder.decode(Int.self, from: NSNumber(value: 3)) == 3)
        #expect(try decoder.decode([String: Int].self, from: ["a": 1]) == ["a": 1])
        #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: "a") }
        #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: Date()) }
    }

    @Test("Numbers keep their digits, and every integer that is encoded can be decoded")
    func numbers() throws {
        struct Numbers: Codable, Equatable {
            var decimal = Decimal(string: "0.1234567890123456789")
            var most = UInt64.max
            var least = Int64.min
            var double = 0.1
            var float = Float(0.1)
            var list: [Decimal?] = [Decimal(string: "123456789012345678901234567890"), nil]
        }
        let value = try Database.Encoder().encode(Numbers())
        #expect(try Database.Decoder().decode(Numbers.self, from: value) == Numbers())
        let fields = try #require(value as? [String: Any])
        #expect((fields["decimal"] as? NSDecimalNumber)?.decimalValue == Numbers().decimal)
        #expect(fields["most"] as? UInt64 == .max)
        #expect(try Database.Decoder().decode(UInt64.self, from: UInt64.max) == .max)
        #expect(throws: DecodingError.self) {
            try Database.Decoder().decode(Int64.self, from: UInt64.max)
        }
        // In the database numbers are doubles.
        let test = try DatabaseUnderTest()
        let reference = test.database.reference(withPath: "n")
        try reference.setValue(from: Numbers()) { test.note("\($0 as Any)") }
        reference.observeSingleEvent(of: .value) { snapshot in
            test.note("\(snapshot.childSnapshot(forPath: "decimal").value as? Double ?? 0)")
        }
        #expect(test.read() == ["0.12345678901234568"])
    }

    @Test("Data as Base64, as itself, or by a closure; both forms are read")
    func bytes() throws {
        let data = Data([0, 255, 7])
        let encoder = Database.Encoder()
        let decoder = Database.Decoder()
        #expect(try encoder.encode(["a": data]) as? [String: String] == ["a": "AP8H"])
        encoder.dataEncodingStrategy = .blob
        #expect(try encoder.encode([data]) as? [Data] == [data])
        for strategy in [Database.Decoder.DataDecodingStrategy.base64, .blob] {
            decoder.dataDecodingStrategy = strategy
            #expect(
                try decoder.decode([Data].self, from: [data, "AP8H"] as [Any]) == [data, data])
            #expect(throws: DecodingError.self) { try decoder.decode(Data.self, from: "?") }
        }
        encoder.dataEncodingStrategy = .deferredToData
        decoder.dataDecodingStrategy = .deferredToData
        #expect(try decoder.decode(Data.self, from: encoder.encode(data)) == data)
        encoder.dataEncodingStrategy = .custom { data, encoder in try data.count.encode(to: encoder)
        }
        decoder.dataDecodingStrategy = .custom { Data(count: try Int(from: $0)) }
        #expect(try decoder.decode(Data.self, from: encoder.encode(data)) == Data(count: 3))
        // The database has no bytes.
        encoder.dataEncodingStrategy = .blob
        let test = try DatabaseUnderTest()
        #expect(throws: EncodingError.self) {
            try test.database.reference(withPath: "n").setValue(from: data, encoder: encoder)
        }
    }

    @Test("Dates and numbers that are not finite in every form")
    func datesAndNumbers() throws {
        let date = Date(timeIntervalSince1970: 86_400)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "yyyy/MM/dd"
        typealias Encoding = Database.Encoder.DateEncodingStrategy
        typealias Decoding = Database.Decoder.DateDecodingStrategy
        let strategies: [(Encoding, Decoding, String)] = [
            (.deferredToDate, .deferredToDate, "-978220800.0"),
            (.secondsSince1970, .secondsSince1970, "86400.0"),
            (.millisecondsSince1970, .millisecondsSince1970, "86400000.0"),
            (.iso8601, .iso8601, "1970-01-02T00:00:00Z"),
            (.formatted(formatter), .formatted(formatter), "1970/01/02"),
            (
                .custom { try $0.timeIntervalSince1970.encode(to: $1) },
                .custom { Date(timeIntervalSince1970: try Double(from: $0)) }, "86400.0"
            ),
        ]
        for (encoding, decoding, text) in strategies {
            let (encoder, decoder) = (Database.Encoder(), Database.Decoder())
            encoder.dateEncodingStrategy = encoding
            decoder.dateDecodingStrategy = decoding
            let encoded = try encoder.encode(["d": date])
            #expect((encoded as? [String: Any])?["d"].map { "\($0)" } == text)
            #expect(try decoder.decode([String: Date].self, from: encoded) == ["d": date])
            #expect(throws: DecodingError.self) { try decoder.decode(Date.self, from: [1]) }
        }
        let (encoder, decoder) = (Database.Encoder(), Database.Decoder())
        #expect(throws: EncodingError.self) { try encoder.encode(Double.infinity) }
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        let encoded = try encoder.encode([Double.infinity, -.infinity, .nan, 1])
        let decoded = try decoder.decode([Double].self, from: encoded)
        #expect(decoded[0] == .infinity && decoded[1] == -.infinity && decoded[2].isNaN)
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
        let decoded = try Database.Decoder().decode(type, from: ["name": "a", "number": 7])
        #expect((decoded as? Derived)?.number == 7 && decoded.name == "a")
    }

    @Test("Strategies are those of JSON coders")
    func strategies() throws {
        struct Note: Codable, Equatable {
            var writtenAt: Date
        }
        let encoder = Database.Encoder()
        encoder.dateEncodingStrategy = .millisecondsSince1970
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let note = Note(writtenAt: Date(timeIntervalSince1970: 1.5))
        let value = try encoder.encode(note)
        #expect(value as? [String: Int] == ["written_at": 1500])
        let decoder = Database.Decoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(Note.self, from: value) == note)
    }

    @Test("A server timestamp is the server's time unless it is set")
    func timestamps() throws {
        let encoder = Database.Encoder()
        let placeholder = try encoder.encode(Message(text: "hello", sent: nil))
        #expect(json(placeholder) == #"{"sent":{".sv":"timestamp"},"text":"hello"}"#)
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        let dated = try encoder.encode(Message(text: "hello", sent: date))
        #expect((dated as? [String: Any])?["sent"] as? Int == 1_700_000_000_250)
        let message = try Database.Decoder().decode(Message.self, from: dated)
        #expect(message.sent == date)
        #expect(throws: EncodingError.self) {
            try encoder.encode(Message(text: "", sent: Date(timeIntervalSince1970: .infinity)))
        }
    }
}
