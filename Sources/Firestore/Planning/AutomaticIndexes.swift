package import LarderDocumentStore
package import LarderModel
package import LarderQuery
import Synchronization

/// Automatic creation of indexes for queries that scan many documents and find few.
///
/// Disabled by default. It can be enabled until the store is closed, as in the client SDKs, or
/// persistently. Thread-safe.
package final class AutomaticIndexes: Sendable {
    /// Scans of fewer documents are fast without an index.
    package static let minDocumentsScanned = 100
    /// The ratio of scanned to found documents above which an index pays off: finding a document
    /// through an index costs about as much as scanning this many.
    package static let minScannedPerResult = 3.4

    private static let name = "automaticIndexes"

    private let store: Store
    private let enabled: Mutex<Bool>

    package init(store: Store) throws(LarderError) {
        self.store = store
        let value = try store.read { transaction throws(LarderError) in
            try transaction.namedValue(.global, Self.name)
        }
        enabled = Mutex(value != nil)
    }

    package var isEnabled: Bool { enabled.withLock { $0 } }

    /// Enables automatic indexes.
    ///
    /// - Parameter persistently: true to enable them for later starts, too, which blocks for a
    ///   write.
    package func enable(persistently: Bool = false) throws(LarderError) {
        if persistently {
            try store.write { transaction throws(LarderError) in
                try transaction.putNamedValue(.global, Self.name, [1])
            }
        }
        enabled.withLock { $0 = true }
    }

    /// Disables automatic indexes, also for later starts; existing indexes stay.
    ///
    /// Blocks for a write if they were enabled persistently.
    package func disable() throws(LarderError) {
        enabled.withLock { $0 = false }
        let isPersistent = try store.read { transaction throws(LarderError) in
            try transaction.namedValue(.global, Self.name) != nil
        }
        guard isPersistent else { return }
        try store.write { transaction throws(LarderError) in
            _ = try transaction.removeNamedValue(.global, Self.name)
        }
    }
}

// MARK: - Missing indexes

extension QueryRunner {
    /// The indexes that would have served a query that scanned many documents and found few: one
    /// for each alternative without an index; none if the scan was efficient.
    ///
    /// See ``AutomaticIndexes`` for the thresholds.
    package func missingIndexes<T: ReadableTransaction & ~Copyable>(
        for query: Query, after execution: QueryExecution, in transaction: borrowing T
    ) throws(LarderError) -> [IndexDefinition] {
        guard execution.kind == .collectionScan || execution.kind == .groupScan,
            execution.documentsScanned >= AutomaticIndexes.minDocumentsScanned,
            Double(execution.documentsScanned)
                > AutomaticIndexes.minScannedPerResult * Double(execution.documentsReturned)
        else { return [] }
        let group: String
        switch query.source {
        case .collection(let path): group = path.id
        case .group(let id): group = id
        case .document: return []
        }
        let known = try transaction.indexes().filter { $0.definition.collectionGroup == group }
        let ordering = ResultOrdering(query)
        var missing: [IndexDefinition] = []
        for term in Disjunction(query.filters).terms {
            guard let definition = IndexDefinition(for: term, ordering, ofGroup: group),
                !missing.contains(definition)
            else { continue }
            var isServed = false
            for index in known where !isServed {
                let scan = try IndexScan(index, of: nil, for: term, ordering)
                isServed =
                    index.definition == definition
                    || scan.map { $0.coversQuery && $0.providedOrder.isComplete } ?? false
            }
            if !isServed { missing.append(definition) }
        }
        return missing
    }
}

extension IndexDefinition {
    /// The index that serves a term: fields with fixed values first, then those of the order.
    ///
    /// Entries with equal order bytes are sorted by ascending name, so that for a descending name
    /// all directions are reversed and the index is scanned backwards.
    fileprivate init?(
        for term: Conjunction, _ ordering: ResultOrdering, ofGroup group: String
    ) {
        var segments: [Segment] = []
        for condition in term.conditions where condition.test == .contains {
            segments.append(Segment(condition.path, .contains))
            break
        }
        var paths: Set<FieldPath> = []
        for condition in term.conditions where condition.test == .equal {
            if paths.insert(condition.path).inserted {
                segments.append(Segment(condition.path, .ascending))
            }
        }
        let isReversed = ordering.orders.last?.isDescending ?? false
        for order in ordering.orders where !order.path.isDocumentID {
            if paths.insert(order.path).inserted {
                segments.append(
                    Segment(
                        order.path,
                        order.isDescending != isReversed ? .descending : .ascending))
            }
        }
        guard !segments.isEmpty else { return nil }
        self.init(
            collectionGroup: group, segments: Array(segments.prefix(IndexDefinition.maxSegments)))
    }
}
