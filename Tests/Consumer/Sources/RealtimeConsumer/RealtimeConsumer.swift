import LarderRealtime

/// Writes to a tree and queries it, with nothing but the public API.
@main
struct RealtimeConsumer {
    static func main() async throws {
        let database = try Database(configuration: .inMemory)
        let scores = database.reference(withPath: "scores")
        let write = scores.enqueueSetValue([
            "lambeosaurus": 21, "linhenykus": 80, "pterodactyl": 93,
        ])
        try await write.committedLocally()
        let best = scores.queryOrderedByValue().queryLimited(toLast: 2)
        let keys = try await best.getData().childSnapshots.map(\.key)
        guard keys == ["linhenykus", "pterodactyl"] else { fatalError("found \(keys)") }
        for try await snapshot in scores.values {
            guard snapshot.childrenCount == 3 else { fatalError("received \(snapshot)") }
            break
        }
        try await database.close()
        print("scores: stored, queried and observed")
    }
}
