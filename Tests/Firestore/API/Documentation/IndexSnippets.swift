import Larder

/// The code in the article IndexesAndExplain.
enum IndexSnippets {
    static func define(_ db: Firestore) async throws {
        // snippet: define
        try await db.setIndexes([
            CacheIndex("cities", [.ascending("country"), .descending("population")]),
            CacheIndex("cities", [.contains("regions"), .descending("population")]),
        ])
        // end
    }

    static func defineOne(_ db: Firestore) async throws {
        // snippet: define-one
        try await db.setIndexes([
            CacheIndex("cities", [.ascending("country"), .descending("population")])
        ])
        // end
    }

    static func defineJSON(_ db: Firestore) async throws {
        // snippet: define-json
        try await db.setIndexConfiguration(
            """
            {"indexes": [{
                "collectionGroup": "cities",
                "fields": [
                    {"fieldPath": "country", "order": "ASCENDING"},
                    {"fieldPath": "population", "order": "DESCENDING"}
                ]
            }]}
            """)
        // end
    }

    static func explain(_ db: Firestore) async throws -> QueryExplanation {
        // snippet: explain
        let query = db.collection("cities")
            .whereField("country", isEqualTo: "FR")
            .order(by: "population", descending: true)
            .limit(to: 3)
        let explanation = try await query.explain()
        print(explanation)
        for alternative in explanation.alternatives {
            print("cost \(Int(alternative.cost.rounded())): \(alternative.plan)")
        }
        // end
        return explanation
    }

    static func automatic(_ db: Firestore) {
        // snippet: automatic
        db.persistentCacheIndexManager?.enableIndexAutoCreation(acrossStarts: true)
        // end
    }

    static func state(_ db: Firestore) throws -> [CacheIndexState] {
        // snippet: index-state
        let incomplete = try db.indexes().filter { !$0.isComplete }
        // end
        return incomplete
    }
}
