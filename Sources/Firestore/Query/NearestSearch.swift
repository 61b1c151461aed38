package import Foundation
package import LarderModel

/// A search for the documents of a query whose vectors are nearest to another vector.
///
/// Documents whose field is no vector, or one of another length, are no results.
package struct NearestSearch: Sendable, Hashable {
    package let field: FieldPath
    package let vector: [Double]
    package let measure: VectorMeasure
    /// The largest number of documents.
    package let limit: Int
    /// The largest distance of a document, or the smallest dot product; nil for no bound.
    package let threshold: Double?
    /// The name of the field of a result that has the distance; nil for none.
    package let resultField: String?

    package init(
        _ field: FieldPath, _ vector: [Double], _ measure: VectorMeasure, limit: Int,
        threshold: Double? = nil, resultField: String? = nil
    ) {
        self.field = field
        self.vector = vector
        self.measure = measure
        self.limit = limit
        self.threshold = threshold
        self.resultField = resultField
    }

    /// The distance of a value; nil if it is no vector of the length, or beyond the threshold.
    package func distance(of value: borrowing ValueView) -> Double? {
        value.withVector { components -> Double? in
            guard components.count == vector.count else { return nil }
            let distance = vector.withUnsafeBufferPointer { measure.distance($0, components) }
            guard let threshold else { return distance }
            return measure.order(distance, threshold) == .orderedDescending ? nil : distance
        } ?? nil
    }
}

/// A measure of how near two vectors are.
package enum VectorMeasure: Sendable, Hashable {
    /// The length of the difference.
    case euclidean
    /// One minus the cosine of the angle; NaN for a vector without length.
    case cosine
    /// The scalar product, which is larger for nearer vectors.
    case dotProduct

    /// The measured value of two vectors of one length.
    ///
    /// - Parameter right: a collection whose first index is 0.
    package func distance<Right: RandomAccessCollection<Double>>(
        _ left: UnsafeBufferPointer<Double>, _ right: Right
    ) -> Double where Right.Index == Int {
        var (sum, leftSquares, rightSquares) = (0.0, 0.0, 0.0)
        switch self {
        case .euclidean:
            for position in left.indices {
                let difference = left[position] - right[position]
                sum += difference * difference
            }
            return sum.squareRoot()
        case .cosine:
            for position in left.indices {
                let (left, right) = (left[position], right[position])
                sum += left * right
                leftSquares += left * left
                rightSquares += right * right
            }
            return 1 - sum / (leftSquares * rightSquares).squareRoot()
        case .dotProduct:
            for position in left.indices { sum += left[position] * right[position] }
            return sum
        }
    }

    /// The order of two distances, the nearer one first; NaN comes last.
    package func order(_ left: Double, _ right: Double) -> ComparisonResult {
        if left.isNaN || right.isNaN {
            if left.isNaN && right.isNaN { return .orderedSame }
            return left.isNaN ? .orderedDescending : .orderedAscending
        }
        if left == right { return .orderedSame }
        let isNearer = self == .dotProduct ? left > right : left < right
        return isNearer ? .orderedAscending : .orderedDescending
    }
}
