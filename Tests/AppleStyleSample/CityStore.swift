import Foundation
import Larder

/// A city, as an application models it.
package struct City: Codable, Equatable, Sendable {
    @DocumentID package var id: String?
    package var name: String
    package var country: String
    package var population: Int
    package var isCapital: Bool?
    @ServerTimestamp package var updated: Timestamp?
}

/// What an application has between its screens and Firestore: only the import line tells that this
/// is not Apple's SDK.
@MainActor
package final class CityStore {
    package private(set) var cities: [City] = []
    package private(set) var additions = 0
    package private(set) var lastError: String?

    let db: Firestore
    private var listener: ListenerRegistration?

    package init() {
        if FirebaseApp.app() == nil {
            FirebaseApp.configure()
        }
        db = Firestore.firestore(database: "sample")
        let settings = FirestoreSettings()
        settings.cacheSettings = PersistentCacheSettings(sizeBytes: 20 * 1024 * 1024 as NSNumber)
        settings.dispatchQueue = DispatchQueue.main
        db.settings = settings
    }

    package func start() {
        if let indexManager = db.persistentCacheIndexManager {
            indexManager.enableIndexAutoCreation()
        }
        listener = db.collection("cities")
            .whereField("population", isGreaterThan: 500_000)
            .order(by: "population", descending: true)
            .limit(to: 10)
            .addSnapshotListener { [weak self] querySnapshot, error in
                MainActor.assumeIsolated {
                    guard let self else { return }
                    guard let snapshot = querySnapshot else {
                        self.lastError = error?.localizedDescription
                        return
                    }
                    self.cities = snapshot.documents.compactMap { document in
                        try? document.data(as: City.self)
                    }
                    snapshot.documentChanges.forEach { diff in
                        if diff.type == .added { self.additions += 1 }
                    }
                }
            }
    }

    package func stop() {
        listener?.remove()
        listener = nil
    }

    package func seed() throws {
        let citiesRef = db.collection("cities")
        citiesRef.document("SF").setData([
            "name": "San Francisco",
            "country": "USA",
            "population": 860_000,
            "regions": ["west_coast", "norcal"],
            "updated": FieldValue.serverTimestamp(),
        ])
        try citiesRef.document("TOK").setData(
            from: City(name: "Tokyo", country: "Japan", population: 9_000_000, isCapital: true))

        let batch = db.batch()
        batch.setData(
            [
                "name": "Beijing", "country": "China", "population": 21_500_000,
                "isCapital": true, "updated": FieldValue.serverTimestamp(),
            ],
            forDocument: citiesRef.document("BJ"))
        batch.setData(
            ["name": "Oamaru", "country": "New Zealand", "population": 14_000],
            forDocument: citiesRef.document("OAM"))
        batch.updateData(
            ["population": FieldValue.increment(Int64(1000))], forDocument: citiesRef.document("SF")
        )
        batch.commit()
    }

    package func grow(_ id: String, by people: Int) async throws -> Int {
        let reference = db.collection("cities").document(id)
        let result = try await db.runTransaction({ (transaction, errorPointer) -> Any? in
            let document: DocumentSnapshot
            do {
                try document = transaction.getDocument(reference)
            } catch let fetchError as NSError {
                errorPointer?.pointee = fetchError
                return nil
            }
            guard let oldPopulation = document.data()?["population"] as? Int else {
                let error = NSError(
                    domain: "AppErrorDomain", code: -1,
                    userInfo: [NSLocalizedDescriptionKey: "no population in \(document)"])
                errorPointer?.pointee = error
                return nil
            }
            transaction.updateData(["population": oldPopulation + people], forDocument: reference)
            return oldPopulation + people
        })
        return result as? Int ?? 0
    }

    package func capitals() async throws -> [String] {
        let snapshot = try await db.collection("cities")
            .whereFilter(
                Filter.andFilter([
                    Filter.whereField("isCapital", isEqualTo: true),
                    Filter.orFilter([
                        Filter.whereField("country", in: ["Japan", "China"]),
                        Filter.whereField("population", isLessThan: 100),
                    ]),
                ])
            )
            .getDocuments()
        return snapshot.documents.map { $0.documentID }.sorted()
    }

    package func city(_ id: String) async throws -> City {
        try await db.collection("cities").document(id).getDocument(as: City.self)
    }

    package func people() async throws -> Int {
        let field = AggregateField.sum("population")
        let snapshot = try await db.collection("cities").aggregate([field])
            .getAggregation(source: .cache)
        return (snapshot.get(field) as? NSNumber)?.intValue ?? 0
    }

    package func goOffline() async throws {
        try await db.disableNetwork()
    }

    package func goOnline(then done: @escaping @MainActor () -> Void) {
        db.enableNetwork { error in
            MainActor.assumeIsolated {
                if error == nil { done() }
            }
        }
    }

    package func reset() async throws {
        try await db.terminate()
        try await db.clearPersistence()
    }
}
