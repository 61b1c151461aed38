package import LarderModel

/// A query with an offset, a projection, and a search for nearest vectors.
package struct QuerySelection: Sendable, Hashable {
    package var query: Query
    /// The number of documents to skip before the limit applies, from the end that it counts from.
    package var offset: Int
    /// The fields to return; nil for all, empty for the name only.
    package var mask: FieldMask?
    /// True for a limit of 0, which ``query`` cannot represent.
    package var isEmpty: Bool
    /// The search among the results; nil for none.
    package var nearest: NearestSearch?

    package init(
        _ query: Query, offset: Int = 0, mask: FieldMask? = nil, isEmpty: Bool = false,
        nearest: NearestSearch? = nil
    ) {
        self.query = query
        self.offset = offset
        self.mask = mask
        self.isEmpty = isEmpty
        self.nearest = nearest
    }

    /// True if it selects all fields of all results.
    package var isWhole: Bool { offset == 0 && mask == nil && !isEmpty && nearest == nil }

    /// The query including the documents that the offset skips.
    package var queryWithOffset: Query {
        var query = query
        query.limit =
            switch query.limit {
            case .first(let count): .first(Self.sum(count, offset))
            case .last(let count): .last(Self.sum(count, offset))
            case nil: nil
            }
        return query
    }

    private static func sum(_ count: Int, _ offset: Int) -> Int {
        let (sum, isOverflow) = count.addingReportingOverflow(offset)
        return isOverflow ? .max : sum
    }

    /// Skips documents and selects fields.
    ///
    /// - Parameter documents: the results of ``queryWithOffset``.
    /// - Throws: `dataLoss` for a damaged record.
    package func selected(from documents: [Document]) throws(LarderError) -> [Document] {
        guard !isEmpty else { return [] }
        let rest =
            query.isLimitedToLast ? documents.dropLast(offset) : documents.dropFirst(offset)
        guard let mask else { return Array(rest) }
        let builder = try RecordBuilder()
        return try rest.map { document throws(LarderError) in
            try document.selecting(mask, using: builder)
        }
    }
}
