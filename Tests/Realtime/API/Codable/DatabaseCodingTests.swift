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
