import Larder
import LarderModel
import Testing

@Suite("Nearest vectors")
struct QueryNearestTests {
    /// Documents with vectors, and some without usable ones.
    private func database() throws -> Firestore {
        let db = try memoryDatabase()
        let vectors: [String: [Double]] = [
            "east": [1, 0], "far": [10, 0], "north": [0, 1], "none": [0, 0], "long": [1, 2, 3],
        ]
        for (id, vector) in vectors {
            db.document("places/\(id)").enqueueSetData([
                "at": VectorValue(vector), "kind": id == "far" ? "distant" : "near",
            ])
        }
        db.document("places/text").enqueueSetData(["at": "somewhere", "kind": "near"])
        return db
    }

    private func nearest(
        _ query: Query, _ measure: DistanceMeasure, limit: Int = 10, threshold: Double? = nil
    ) async throws -> [String] {
        try await query.findNearest(
            field: "at", vectorValue: VectorValue([2, 0]), distanceMeasure: measure, limit: limit,
            distanceThreshold: threshold, source: .cache
        ).map(\.document.documentID)
    }

    @Test("Each measure has its order, and leaves out what it cannot compare")
    func measures() async throws {
        let places = try database().collection("places")
        #expect(try await nearest(places, .euclidean) == ["east", "none", "north", "far"])
        #expect(try await nearest(places, .cosine) == ["east", "far", "north"])
        #expect(try await nearest(places, .dotProduct) == ["far", "east", "none", "north"])
    }

    @Test("Filters, limit and threshold narrow the result")
    func bounds() async throws {
        let places = try database().collection("places")
        #expect(try await nearest(places, .dotProduct, limit: 1) == ["far"])
        #expect(try await nearest(places, .euclidean, threshold: 1) == ["east"])
        #expect(try await nearest(places, .dotProduct, threshold: 2) == ["far", "east"])
        let near = places.whereField("kind", isEqualTo: "near")
        #expect(try await nearest(near, .dotProduct, limit: 1) == ["east"])
    }

    @Test("The distance is that of the measure")
    func distances() async throws {
        let places = try database().collection("places")
        let found = try await places.findNearest(
            field: Larder.FieldPath(["at"]), vectorValue: [3, 4], distanceMeasure: .euclidean,
            limit: 10,
            source: .cache)
        #expect(found.first { $0.document.documentID == "none" }?.distance == 5)
    }

    @Test("A limit out of range, no components and NaN are invalid", arguments: [0, 1001])
    func invalid(limit: Int) async throws {
        let places = try database().collection("places")
        #expect(
            await code { _ = try await nearest(places, .cosine, limit: limit) } == .invalidArgument)
        for vector in [[], [Double.nan], [.infinity]] {
            #expect(
                await code {
                    _ = try await places.findNearest(
                        field: "at", vectorValue: VectorValue(vector), distanceMeasure: .cosine,
                        limit: 1, source: .cache)
                } == .invalidArgument)
        }
    }
}
