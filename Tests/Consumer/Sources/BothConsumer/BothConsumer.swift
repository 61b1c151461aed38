import Foundation
import Larder
import LarderRealtime

/// Uses both databases; names of both products are qualified by module.
@main
struct BothConsumer {
    struct City: Codable {
        var name: String
        @Larder.ServerTimestamp var updated: Timestamp?
    }

    struct Player: Codable {
        var name: String
        @LarderRealtime.ServerTimestamp var joined: Date?
    }

    static func main() async throws {
        let firestore = try Firestore(configuration: .inMemory)
        let city = firestore.document("cities/NYC")
        try await city.enqueueSetData(
            try Firestore.Encoder().encode(City(name: "New York", updated: nil))
        ).committedLocally()
        let document = try await city.getDocument(source: .cache)

        let database = try Database(configuration: .inMemory)
        let player = database.reference(withPath: "players/ada")
        try await player.enqueueSetValue(
            try Database.Encoder().encode(Player(name: "Ada", joined: nil))
        ).committedLocally()
        let snapshot: DataSnapshot = try await player.getData()

        guard document.get("name") as? String == "New York",
            try snapshot.data(as: Player.self).name == "Ada"
        else { fatalError("read \(document) and \(snapshot)") }
        try await firestore.terminate()
        try await database.close()
        print("NYC and Ada: stored in two databases and read back")
    }
}
