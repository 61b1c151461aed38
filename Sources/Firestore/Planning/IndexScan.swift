import LarderDocumentStore
import LarderModel
import LarderQuery

/// A scan of one index that finds every document which meets a conjunction.
struct IndexScan: Sendable {
    let index: IndexInfo
    /// The collection; nil for the whole group.
    let collection: CollectionPath?
    /// The ranges to scan, in the index's order; none if nothing can match.
    let ranges: [KeyRange]
    let isReversed: Bool
    let providedOrder: ProvidedOrder
    /// The conditions that the ranges cover, by their positions in the conjunction.
    let used: Set<Int>
    /// Whether every condition and both bounds are covered; documents then need no test beyond what
    /// order bytes cannot express.
    let coversQuery: Bool
    /// True if the entries in the ranges are exactly the matches, one each.
    let isExact: Bool

    /// The sources to scan, in the requested order.
    var sources: [DocumentSource] {
        let sources = ranges.map { range in
            DocumentSource.index(
                index.id, in: collection,
                from: range.low.isEmpty ? nil : .orderBytes(range.low),
                to: range.high.map { .orderBytes($0, isInclusive: false) })
        }
        return isReversed ? sources.reversed() : sources
    }

    /// True if the scan includes the whole index.
    var isUnbounded: Bool {
        ranges.count == 1 && ranges[0].low.isEmpty && ranges[0].high == nil
    }
}

extension IndexScan {
    /// The scan of an index that finds the documents of a term; nil if the index may lack some of
    /// them.
    ///
    /// An index contains the documents that have all its fields, so that the term or the order must
    /// require each of these fields. For an array it contains the elements, so that the term must
    /// fix one in the leading segments: otherwise a document would be found several times.
    init?(
        _ index: IndexInfo, of collection: CollectionPath?, for term: Conjunction,
        _ ordering: ResultOrdering
    ) throws(LarderError) {
        let segments = index.definition.segments
        for segment in segments where segment.kind != .contains {
            guard
                term.conditions.contains(where: { $0.path == segment.path })
                    || ordering.orders.contains(where: { $0.path == segment.path })
            else { return nil }
        }
        var builder = IndexScanBuilder(segments, term, ordering)
        builder.consumeConstants()
        guard !segments[builder.position...].contains(where: { $0.kind == .contains }) else {
            return nil
        }
        let (isReversed, providedOrder) = builder.order()
        let ranges = try builder.ranges(isReversed: isReversed)
        self.index = index
        self.collection = collection
        self.ranges = ranges
        self.isReversed = isReversed
        self.providedOrder = providedOrder
        used = builder.used
        coversQuery =
            term.isWhole && term.documentIDs.isEmpty && builder.coversBounds
            && builder.used.count == term.conditions.count
        isExact =
            coversQuery && !builder.isCut && ranges.allSatisfy(\.isExact)
            && ordering.orders.allSatisfy { order in
                order.path.isDocumentID || segments.contains { $0.path == order.path }
            }
    }
}

/// A range of order bytes in an index, including the lower end and excluding the upper.
struct KeyRange: Sendable, Hashable {
    /// The first bytes in the range; empty for the beginning of the index.
    var low: [UInt8]
    /// The first bytes after the range; nil for the end of the index.
    var high: [UInt8]?

    /// The length to which entries are truncated: a range with a longer end includes further
    /// entries.
    static let exactBytes = 240

    init(prefix: [UInt8]) {
        low = prefix
        high = prefix.successor
    }

    init(low: [UInt8], high: [UInt8]?) {
        self.low = low
        self.high = high
    }

    var isEmpty: Bool {
        guard let high else { return false }
        return !low.lexicographicallyPrecedes(high)
    }

    /// Whether neither end of the range is truncated in the index.
    var isExact: Bool {
        low.count <= Self.exactBytes && (high?.count ?? 0) <= Self.exactBytes
    }

    func intersection(_ other: KeyRange) -> KeyRange {
        let low = low.lexicographicallyPrecedes(other.low) ? other.low : low
        guard let high else { return KeyRange(low: low, high: other.high) }
        guard let otherHigh = other.high else { return KeyRange(low: low, high: high) }
        return KeyRange(
            low: low, high: otherHigh.lexicographicallyPrecedes(high) ? otherHigh : high)
    }

    /// This range without the other: up to two ranges, in order.
    func subtracting(_ other: KeyRange) -> [KeyRange] {
        var rest: [KeyRange] = []
        rest.append(intersection(KeyRange(low: [], high: other.low)))
        if let high = other.high { rest.append(intersection(KeyRange(low: high, high: nil))) }
        return rest.filter { !$0.isEmpty }
    }
}

extension [UInt8] {
    /// The first key after all keys with this prefix; nil if there is none.
    var successor: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xff }) else { return nil }
        var bytes = Array(self[...last])
        bytes[last] += 1
        return bytes
    }

    /// Converts order bytes between ascending and descending segments.
    var complement: [UInt8] { map { ~$0 } }
}
