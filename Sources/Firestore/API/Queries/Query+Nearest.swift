import Foundation
public import LarderModel
import LarderQuery

/// A measure of how near two vectors are.
public enum DistanceMeasure: Hashable, Sendable {
    /// The length of the difference; 0 for equal vectors.
    case euclidean
    /// One minus the cosine of the angle, from 0 for the same direction to 2 for the opposite one.
    case cosine
    /// The scalar product, which is larger for nearer vectors.
    case dotProduct

    fileprivate var measure: VectorMeasure {
        switch self {
        case .euclidean: .euclidean
        case .cosine: .cosine
        case .dotProduct: .dotProduct
        }
    }
}

/// A document found by ``Query/findNearest(field:vectorValue:distanceMeasure:limit:distanceThreshold:source:)``.
public struct NearestDocument: Hashable, Sendable {
    /// The document.
    public let document: QueryDocumentSnapshot

    /// The value of the distance measure between its vector and the requested one.
    public let distance: Double
}

extension Query {
    /// The documents of the query whose vectors are nearest to another vector, nearest first.
    ///
    /// Exact: reads all results of the query as ``getDocuments(source:)`` does, and compares each
    /// vector; filters of the query narrow the search. Documents are skipped if the field is no
    /// vector or has another number of components, and with ``DistanceMeasure/cosine`` if it has no
    /// length. Equally near documents are in the order of the query.
    ///
    /// Complexity: O(n · d + n log n) for n results and d components.
    ///
    /// ```swift
    /// let near = try await db.collection("cities").whereField("country", isEqualTo: "NZ")
    ///     .findNearest(
    ///         field: "embedding", vectorValue: VectorValue([0.1, 0.7]), distanceMeasure: .cosine,
    ///         limit: 5, source: .cache)
    /// ```
    ///
    /// - Parameters:
    ///   - field: the field with the vectors, as `String` or ``FieldPath``.
    ///   - vectorValue: the vector to compare with.
    ///   - distanceMeasure: the measure.
    ///   - limit: the largest number of documents, from 1 to 1,000.
    ///   - distanceThreshold: the largest distance of a document, or with
    ///     ``DistanceMeasure/dotProduct`` the smallest product; nil for no bound.
    ///   - source: where the results of the query are read.
    /// - Throws: `invalidArgument` for an invalid field, a limit out of range or a vector without
    ///   components or with infinities or NaN; otherwise as ``getDocuments(source:)``.
    public nonisolated(nonsending) func findNearest(
        field: Any, vectorValue: VectorValue, distanceMeasure: DistanceMeasure, limit: Int,
        distanceThreshold: Double? = nil, source: FirestoreSource = .default
    ) async throws -> [NearestDocument] {
        let path = try FieldPath.resolving(field)
        let target = vectorValue.components
        guard (1...1000).contains(limit) else {
            throw LarderError.invalidArgument("the limit is \(limit); it must be 1 to 1000")
        }
        guard !target.isEmpty, target.allSatisfy(\.isFinite) else {
            throw LarderError.invalidArgument(
                "the vector needs components, and each must be finite")
        }
        let measure = distanceMeasure.measure
        var found: [(index: Int, near: NearestDocument)] = []
        for (index, document) in try await getDocuments(source: source).documents.enumerated() {
            guard case .vector(let vector)? = document.document?.record?[path],
                vector.components.count == target.count
            else { continue }
            let distance = target.withUnsafeBufferPointer {
                measure.distance($0, vector.components)
            }
            guard !distance.isNaN else { continue }
            if let bound = distanceThreshold,
                measure.order(distance, bound) == .orderedDescending
            {
                continue
            }
            found.append((index, NearestDocument(document: document, distance: distance)))
        }
        found.sort { left, right in
            let order = measure.order(left.near.distance, right.near.distance)
            return order == .orderedSame ? left.index < right.index : order == .orderedAscending
        }
        return found.prefix(limit).map(\.near)
    }
}
