import Larder

/// Writes a document, finds it with a query and listens to it, with nothing but the public API.
@main
struct Consumer {
    static func main() async throws {
        let db = try Firestore(configuration: .inMemory)
        let cities = db.collection("cities")
        let write = cities.document("NYC").enqueueSetData([
            "name": "New York", "population": 8_804_190,
        ])
        try await write.committedLocally()
        let large = cities.whereField("population", isGreaterThan: 1_000_000)
        let names = try await large.getDocuments(source: .cache).documents.map {
            $0.get("name") as? String
        }
        guard names == ["New York"] else { fatalError("found \(names)") }
        for try await snapshot in large.snapshots {
            guard snapshot.count == 1 else { fatalError("heard of \(snapshot.count) documents") }
            break
        }
        try await db.terminate()
        print("NYC: stored, found and heard of")
    }
}
