import LarderDocumentStore
import LarderModel
import LarderTestSupport

extension SeededRandom {
    /// One to three fields for an index.
    mutating func planningSegments(_ fields: [FieldPath]) -> [IndexDefinition.Segment] {
        var segments: [IndexDefinition.Segment] = []
        for path in fields.shuffled(using: &self).prefix(1 + below(3)) {
            let isContains = path.last == "tags" && oneIn(2)
            segments.append(
                IndexDefinition.Segment(
                    path, isContains ? .contains : oneIn(2) ? .ascending : .descending))
        }
        return segments
    }
}
