import Foundation
import Larder

/// The code in the article GettingStarted.
enum GettingStartedSnippets {
    static func openLocal(_ directory: String) throws -> Firestore {
        // snippet: open-local
        let db = try Firestore(configuration: .local(directory: directory))
        // end
        return db
    }

    static func open(_ directory: String) throws -> Firestore {
        // snippet: open
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.cacheSize = .bytes(500 * 1024 * 1024)
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func share() -> Firestore {
        // snippet: share
        let db = Firestore.firestore()
        let settings = FirestoreSettings()
        settings.cacheSettings = PersistentCacheSettings(sizeBytes: 500 * 1024 * 1024)
        db.settings = settings
        // end
        return db
    }

    /// As the comment of ``FirestoreConfiguration`` has it; compiled only.
    static func openInFixedPlace() throws -> Firestore {
        // snippet: open-in-fixed-place
        let configuration = FirestoreConfiguration(directory: "/var/lib/shop/larder")
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    /// As the comment of ``FirestoreSettings`` has it; compiled only.
    static func shareLarge() {
        // snippet: share-large
        let settings = FirestoreSettings()
        settings.cacheSettings = PersistentCacheSettings(sizeBytes: 200 * 1024 * 1024 as NSNumber)
        Firestore.firestore().settings = settings
        // end
    }

    static func write(_ db: Firestore) {
        // snippet: write
        let sanFrancisco = db.document("cities/SF")
        sanFrancisco.setData([
            "name": "San Francisco", "state": "CA", "population": 860_000,
            "regions": ["west_coast", "norcal"],
        ])
        sanFrancisco.updateData([
            "population": FieldValue.increment(1),
            "regions": FieldValue.arrayUnion(["bay_area"]),
            "changed": FieldValue.serverTimestamp(),
        ])
        // end
    }

    static func batch(_ db: Firestore) async throws {
        // snippet: batch
        let batch = db.batch()
        batch.setData(
            ["name": "Lyon", "population": 522_250], forDocument: db.document("cities/LYS"))
        batch.deleteDocument(db.document("cities/ATL"))
        try await batch.enqueueCommit().committedLocally()
        // end
    }

    static func read(_ db: Firestore) async throws -> Int? {
        // snippet: read
        let city = try await db.document("cities/SF").getDocument(source: .cache)
        let population = city.get("population") as? Int
        // end
        return population
    }

    static func query(_ db: Firestore) async throws -> [String] {
        // snippet: query
        let large = db.collection("cities")
            .whereField("population", isGreaterThan: 500_000)
            .order(by: "population", descending: true)
            .limit(to: 10)
        let snapshot = try await large.getDocuments(source: .cache)
        let names = snapshot.documents.compactMap { $0.get("name") as? String }
        // end
        return names
    }

    static func listen(
        _ db: Firestore, _ show: @escaping @Sendable (String) -> Void
    ) -> any ListenerRegistration {
        // snippet: listen
        let registration = db.collection("cities").addSnapshotListener { snapshot, error in
            guard let snapshot else { return show("failed: \(error as Any)") }
            for change in snapshot.documentChanges {
                show("\(change.type) \(change.document.documentID)")
            }
        }
        // end
        return registration
    }

    // snippet: city
    struct City: Codable {
        @DocumentID var id: String?
        var name: String
        var population: Int
        @ServerTimestamp var changed: Timestamp?
    }
    // end

    static func code(_ db: Firestore) async throws -> City {
        // snippet: code
        let document = db.document("cities/LON")
        try document.setData(from: City(name: "London", population: 8_961_989))
        let city = try await document.getDocument(as: City.self, source: .cache)
        // end
        return city
    }

    static func aggregate(_ db: Firestore) async throws -> (Int, Double?) {
        // snippet: aggregate
        let figures = try await db.collection("cities")
            .aggregate([.count(), .average("population")])
            .getAggregation(source: .cache)
        let count = figures.count.intValue
        let average = figures.get(.average("population")) as? Double
        // end
        return (count, average)
    }
}
