import FirebaseCore
import FirebaseFirestore
import Foundation

/// Reads and writes of trails.
package final class TrailRepository {
    private let db: Firestore
    private var trails: CollectionReference { db.collection("trails") }

    package init(db: Firestore) {
        self.db = db
    }

    // MARK: Writing

    /// Adds a trail, which is visible at once.
    @discardableResult
    package func add(_ trail: Trail) throws -> DocumentReference {
        try trails.addDocument(from: trail)
    }

    /// Stores a trail under its own ID.
    package func store(_ trail: Trail, as id: String, completion: ((Error?) -> Void)? = nil) throws
    {
        try trails.document(id).setData(from: trail, merge: true, completion: completion)
    }

    /// Adds and removes tags.
    package func retag(_ id: String, adding: [String], removing: [String]) {
        let reference = trails.document(id)
        reference.updateData(["tags": FieldValue.arrayUnion(adding)])
        reference.updateData([
            "tags": FieldValue.arrayRemove(removing),
            "updatedAt": FieldValue.serverTimestamp(),
        ])
    }

    /// Rates a trail: the review is a document of its own, the trail has the average.
    package func rate(_ id: String, with review: Review) async throws -> Double {
        let trail = trails.document(id)
        let reviewReference = trail.collection("reviews").document()
        let average = try await db.runTransaction { transaction, errorPointer -> Any? in
            let snapshot: DocumentSnapshot
            do {
                snapshot = try transaction.getDocument(trail)
            } catch let error as NSError {
                errorPointer?.pointee = error
                return nil
            }
            guard let count = snapshot.data()?["ratingCount"] as? Int,
                let average = snapshot.data()?["averageRating"] as? Double
            else {
                errorPointer?.pointee = NSError(
                    domain: "HikingClub", code: 1,
                    userInfo: [NSLocalizedDescriptionKey: "\(id) has no ratings"])
                return nil
            }
            let newAverage = (average * Double(count) + Double(review.rating)) / Double(count + 1)
            do {
                try transaction.setData(from: review, forDocument: reviewReference)
            } catch {
                errorPointer?.pointee = NSError(domain: "HikingClub", code: 2)
                return nil
            }
            transaction.updateData(
                ["ratingCount": count + 1, "averageRating": newAverage], forDocument: trail)
            return newAverage
        }
        return average as? Double ?? 0
    }

    /// Removes trails together.
    package func remove(_ ids: [String]) async throws {
        let batch = db.batch()
        for id in ids {
            batch.deleteDocument(trails.document(id))
        }
        try await batch.commit()
    }

    // MARK: Reading

    /// A trail; nil if there is none.
    package func trail(_ id: String) async throws -> Trail? {
        let snapshot = try await trails.document(id).getDocument()
        guard snapshot.exists else { return nil }
        return try snapshot.data(as: Trail.self)
    }

    /// The start of a trail with its surface, decoded from fields.
    package func summary(_ id: String) async throws -> (surface: Surface?, tags: [String]) {
        let snapshot = try await trails.document(id).getDocument(source: .default)
        let data = snapshot.data(with: .estimate) ?? [:]
        let tags = try Firestore.Decoder().decode([String].self, from: data["tags"] as Any)
        let surface = (snapshot["surface"] as? String).flatMap(Surface.init(rawValue:))
        return (surface, tags)
    }

    /// Pages of a region's trails, longest first.
    package func page(of region: String, after last: DocumentSnapshot?, size: Int) async throws
        -> [QueryDocumentSnapshot]
    {
        var query = trails.whereField("region", isEqualTo: region)
            .order(by: "lengthInMeters", descending: true)
            .limit(to: size)
        if let last {
            query = query.start(afterDocument: last)
        }
        return try await query.getDocuments().documents
    }

    /// Trails for a rainy day.
    package func sheltered() async throws -> [String] {
        let filter = Filter.orFilter([
            Filter.whereField("surface", isEqualTo: Surface.forest.rawValue),
            Filter.andFilter([
                Filter.whereField("tags", arrayContains: "huts"),
                Filter.whereField("lengthInMeters", isLessThan: 8000),
            ]),
        ])
        let snapshot = try await trails.whereFilter(filter).getDocuments()
        return snapshot.documents.map(\.documentID).sorted()
    }

    /// The number of trails and their whole length.
    package func statistics() async throws -> (count: Int, meters: Int) {
        let meters = AggregateField.sum("lengthInMeters")
        let snapshot = try await trails.aggregate([AggregateField.count(), meters])
            .getAggregation(source: .server)
        return (snapshot.count.intValue, (snapshot.get(meters) as? NSNumber)?.intValue ?? 0)
    }

    /// All reviews of all trails by one author.
    package func reviews(by author: String) async throws -> [Review] {
        let query = db.collectionGroup("reviews").whereField("author", isEqualTo: author)
        return try await query.getDocuments().documents.map { try $0.data(as: Review.self) }
    }
}
