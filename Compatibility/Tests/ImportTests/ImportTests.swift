import Firebase
import FirebaseFirestoreSwift
import FirebaseSharedSwift
import Testing

/// An application whose import lines are of Apple's earlier versions.
@Suite("Earlier import lines")
struct ImportTests {
    private struct Score: Codable, Equatable {
        var playerName: String
        var at: Date
    }

    @Test("One module has both databases")
    func databases() throws {
        let firestore: Firestore.Type = Firestore.self
        let database: Database.Type = Database.self
        #expect("\(firestore)" == "Firestore" && "\(database)" == "Database")
    }

    @Test("The shared coders have Apple's names and strategies")
    func coders() throws {
        let encoder = FirebaseDataEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        let score = Score(playerName: "Ada", at: Date(timeIntervalSince1970: 12.5))
        let data = try encoder.encode(score)
        #expect((data as? [String: Any])?["player_name"] as? String == "Ada")
        let decoder = FirebaseDataDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(try decoder.decode(Score.self, from: data) == score)
    }
}
