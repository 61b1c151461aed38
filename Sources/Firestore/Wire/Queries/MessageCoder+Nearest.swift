import LarderModel
import LarderQuery
import SwiftProtobuf

extension MessageCoder {
    private static let maxNearest = 1_000
    private static let maxNameBytes = 1_500

    /// Decodes the search of a query for nearest vectors; nil for none.
    ///
    /// - Throws: `invalidArgument`, with Firestore's messages.
    func nearest(_ query: Google_Firestore_V1_StructuredQuery)
        throws(LarderError) -> NearestSearch?
    {
        guard query.hasFindNearest else { return nil }
        let message = query.findNearest
        guard !query.hasLimit else {
            throw .invalidArgument("A query limit cannot be used with FindNearest")
        }
        guard query.offset == 0 else {
            throw .invalidArgument("A query offset cannot be used with FindNearest")
        }
        guard !query.hasStartAt, !query.hasEndAt else {
            throw .invalidArgument("A cursor cannot be used with FindNearest")
        }
        guard message.hasLimit, (1...Self.maxNearest).contains(Int(message.limit.value)) else {
            throw .invalidArgument(
                "FindNearest.limit must be a positive integer of no more than \(Self.maxNearest)")
        }
        let measure: VectorMeasure
        switch message.distanceMeasure {
        case .euclidean: measure = .euclidean
        case .cosine: measure = .cosine
        case .dotProduct: measure = .dotProduct
        case .unspecified, .UNRECOGNIZED: throw .invalidArgument("Unknown Distance Measure.")
        }
        guard case .vector(let vector) = try decode(message.queryVector) else {
            throw .invalidArgument("Query Value must be of type vector.")
        }
        if let problem = vector.components.vectorSizeProblem { throw .invalidArgument(problem) }
        return NearestSearch(
            try decode(fieldPath: message.vectorField.fieldPath), vector.components, measure,
            limit: Int(message.limit.value), threshold: try threshold(message),
            resultField: try resultField(message.distanceResultField))
    }

    private func threshold(_ message: Google_Firestore_V1_StructuredQuery.FindNearest)
        throws(LarderError) -> Double?
    {
        guard message.hasDistanceThreshold else { return nil }
        guard message.distanceThreshold.value.isFinite else {
            throw .invalidArgument("distanceThreshold must be a finite number.")
        }
        return message.distanceThreshold.value
    }

    /// The name of a field, which is no path.
    private func resultField(_ name: String) throws(LarderError) -> String? {
        guard !name.isEmpty else { return nil }
        guard !FieldPath.isReserved(name) else {
            throw .invalidArgument(
                "The distanceResultField.property.name \"\(name)\" is reserved.")
        }
        guard name.utf8.count <= Self.maxNameBytes else {
            throw .invalidArgument("distanceResultField has \(name.utf8.count) bytes")
        }
        return name
    }
}
