// snippet: readme
import Larder

func largeCities(in directory: String) async throws -> [String] {
    let db = try Firestore(configuration: .local(directory: directory))
    let cities = db.collection("cities")
    cities.document("SF").enqueueSetData(["name": "San Francisco", "population": 860_000])
    cities.document("LON").enqueueSetData(["name": "London", "population": 8_961_989])

    let large = cities.whereField("population", isGreaterThan: 1_000_000)
        .order(by: "population", descending: true)
    let snapshot = try await large.getDocuments(source: .cache)
    try await db.terminate()
    return snapshot.documents.compactMap { $0.get("name") as? String }
}
// end
