package import LarderModel
package import LarderQuery

/// What a request asks of a query: which documents, and what of each.
package struct QuerySelection: Sendable {
    /// The documents.
    package var query: Query
    /// How many of them to leave out before the limit counts.
    package var offset: Int
    /// The fields that are given of each; nil for all, none for the name alone.
    package var mask: FieldMask?
    /// Whether the limit is 0, which ``query`` cannot say: nothing is found.
    package var isEmpty: Bool

    /// A selection of a query's documents.
    package init(
        _ query: Query, offset: Int = 0, mask: FieldMask? = nil, isEmpty: Bool = false
    ) {
        self.query = query
        self.offset = offset
        self.mask = mask
        self.isEmpty = isEmpty
    }
}

extension LarderError {
    /// Something that Firestore has and Larder does not.
    static func unimplemented(_ what: String) -> LarderError {
        LarderError(.unimplemented, "\(what) is not implemented")
    }
}
