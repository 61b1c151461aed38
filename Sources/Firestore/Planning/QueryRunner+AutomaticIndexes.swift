package import LarderDocumentStore
package import LarderModel
package import LarderQuery

extension QueryRunner {
    /// The indexes that would have served a query which scanned much and found little: one for
    /// each way to match that has none; none where scanning was well enough.
    ///
    /// See ``AutomaticIndexes`` for what is much and little.
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
        let arrangement = Arrangement(query)
        var missing: [IndexDefinition] = []
        for term in Disjunction(query.filters).terms {
            guard let definition = IndexDefinition(for: term, arrangement, ofGroup: group),
                !missing.contains(definition)
            else { continue }
            var isServed = false
            for index in known where !isServed {
                let scan = try IndexScan(index, of: nil, for: term, arrangement)
                isServed =
                    index.definition == definition
                    || scan.map { $0.seesToAll && $0.delivery.isComplete } ?? false
            }
            if !isServed { missing.append(definition) }
        }
        return missing
    }
}

extension IndexDefinition {
    /// The index that serves a term: the fields it fixes, then those it orders by.
    ///
    /// Entries that are alike go by ascending name, so that for a descending name everything is
    /// turned round, to be scanned backwards.
    fileprivate init?(
        for term: Conjunction, _ arrangement: Arrangement, ofGroup group: String
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
        let isTurned = arrangement.orders.last?.isDescending ?? false
        for order in arrangement.orders where !order.path.isDocumentID {
            if paths.insert(order.path).inserted {
                segments.append(
                    Segment(
                        order.path,
                        order.isDescending != isTurned ? .descending : .ascending))
            }
        }
        guard !segments.isEmpty else { return nil }
        self.init(
            collectionGroup: group, segments: Array(segments.prefix(IndexDefinition.maxSegments)))
    }
}
