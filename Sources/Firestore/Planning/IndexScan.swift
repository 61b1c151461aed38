import LarderDocumentStore
import LarderModel
import LarderQuery

/// A scan of one index that finds every document which meets a conjunction.
struct IndexScan: Sendable {
    let index: IndexInfo
    /// The collection; nil for the whole group.
    let collection: CollectionPath?
    /// What to scan, in the index's order; none when nothing can match.
    let ranges: [KeyRange]
    let isReversed: Bool
    let delivery: Delivery
    /// Conditions that the ranges see to, by their positions in the conjunction.
    let used: Set<Int>
    /// Whether every condition and both bounds are seen to; then all that is left to test is
    /// what order bytes do not tell.
    let seesToAll: Bool
    /// Whether the entries in the ranges are the matches: one each, and no others.
    let isExact: Bool

    /// What to scan, in the order in which it is wanted.
    var sources: [DocumentSource] {
        let sources = ranges.map { range in
            DocumentSource.index(
                index.id, in: collection,
                from: range.low.isEmpty ? nil : .orderBytes(range.low),
                to: range.high.map { .orderBytes($0, isInclusive: false) })
        }
        return isReversed ? sources.reversed() : sources
    }

    /// Whether the scan takes in the whole index.
    var isUnbounded: Bool {
        ranges.count == 1 && ranges[0].low.isEmpty && ranges[0].high == nil
    }
}

extension IndexScan {
    /// The scan of an index that finds what meets a term; nil where the index may lack some of
    /// it.
    ///
    /// An index has the documents that have all its fields, so that each must be in what
    /// matches: named by a condition, or by an order. Of an array it has the elements, so that
    /// one is to be asked for, among the first segments: otherwise a document came several times.
    init?(
        _ index: IndexInfo, of collection: CollectionPath?, for term: Conjunction,
        _ arrangement: Arrangement
    ) throws(LarderError) {
        let segments = index.definition.segments
        for segment in segments where segment.kind != .contains {
            guard
                term.conditions.contains(where: { $0.path == segment.path })
                    || arrangement.orders.contains(where: { $0.path == segment.path })
            else { return nil }
        }
        var builder = IndexScanBuilder(segments, term, arrangement)
        builder.takeConstants()
        guard !segments[builder.position...].contains(where: { $0.kind == .contains }) else {
            return nil
        }
        let (isReversed, delivery) = builder.order()
        let ranges = try builder.ranges(isReversed: isReversed)
        self.index = index
        self.collection = collection
        self.ranges = ranges
        self.isReversed = isReversed
        self.delivery = delivery
        used = builder.used
        seesToAll =
            term.isWhole && term.names.isEmpty && builder.seesToBounds
            && builder.used.count == term.conditions.count
        isExact =
            seesToAll && !builder.isCut && ranges.allSatisfy(\.isExact)
            && arrangement.orders.allSatisfy { order in
                order.path.isDocumentID || segments.contains { $0.path == order.path }
            }
    }
}
