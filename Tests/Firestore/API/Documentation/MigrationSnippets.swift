import Foundation

// snippet: can-import
#if canImport(FirebaseFirestore)
    import FirebaseFirestore
#else
    import Larder
#endif
// end

enum TroubleshootingSnippets {
    static func verbose() {
        // snippet: verbose
        FirebaseConfiguration.shared.setLoggerLevel(.debug)
        // end
    }

    static func commit(_ document: DocumentReference) async throws {
        // snippet: local-commit
        try await document.enqueueSetData(["name": "San Francisco"]).committedLocally()
        // end
    }

    static func count(_ counter: DocumentReference) async throws {
        // snippet: conditional-count
        let snapshot = try await counter.getDocument(source: .server)
        guard let time = snapshot.updateTime, let value = snapshot.get("value") as? Int else {
            return
        }
        counter.enqueueUpdateData(["value": value + 1], onlyIf: .updated(at: time))
        // end
    }

    static func update(_ db: Firestore) async throws {
        // snippet: write-condition
        let city = try await db.document("cities/SF").getDocument()
        guard let time = city.updateTime else { return }
        city.reference.enqueueUpdateData(["population": 861_000], onlyIf: .updated(at: time))
        // end
    }

    static func nearest(_ db: Firestore) async throws -> [NearestDocument] {
        // snippet: nearest
        let near = try await db.collection("cities").whereField("country", isEqualTo: "NZ")
            .findNearest(
                field: "embedding", vectorValue: VectorValue([0.1, 0.7]), distanceMeasure: .cosine,
                limit: 5, source: .cache)
        // end
        return near
    }

    /// The code of Firestore's errors; nil for others.
    static func code(_ error: any Error) -> FirestoreErrorCode.Code? {
        // snippet: error-cast
        let code = (error as? FirestoreErrorCode)?.code
        // end
        return code
    }

    static func store(_ document: DocumentReference, _ city: GettingStartedSnippets.City)
        async throws
    {
        // snippet: coded-write
        try await document.enqueueSetData(from: city).acknowledged()
        // end
    }
}
