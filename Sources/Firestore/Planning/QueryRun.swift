import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery

/// One run of a plan: tests the plan's documents and collects the requested ones.
final class QueryRun {
    let user: UserID
    let ordering: ResultOrdering
    let matcher: QueryMatcher
    let comparator: DocumentComparator
    var execution: QueryExecution
    private let charge: QueryCharge?
    private var chargedBytes = 0

    /// The change of the held bytes that is charged: smaller queries are not.
    private static let chargeStep = 64 << 10

    init(
        _ query: Query, _ ordering: ResultOrdering, _ choice: ChosenPlan, user: UserID,
        charge: QueryCharge? = nil
    ) throws(LarderError) {
        self.user = user
        self.charge = charge
        self.ordering = ordering
        // Plans read only the query's scope.
        matcher = try QueryMatcher(query, isSourceKnown: true)
        comparator = DocumentComparator(orders: ordering.orders)
        execution = QueryExecution(choice)
    }

    /// The matching documents of a plan, in the requested order, with the limit.
    func documents<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var documents: [Document]
        switch plan {
        case .index(let scan)
        where scan.providedOrder.isComplete || scan.providedOrder.lacksDocumentIDOnly:
            documents = try documentsInIndexOrder(of: scan, transaction)
        case .merge(let plans, _):
            documents = try mergedDocuments(of: plans, transaction)
        default:
            if plan.providedOrder.isComplete {
                documents = try firstDocuments(of: plan, transaction)
            } else if ordering.limit != nil, plan.providedOrder.orderCount > 0 {
                documents = try mergedDocuments(of: [plan], transaction)
            } else {
                documents = try sortedDocuments(of: plan, transaction)
            }
        }
        if ordering.isReversed { documents.reverse() }
        execution.documentsReturned = documents.count
        return documents
    }

    /// Calls a closure with every matching document of a plan, in the plan's order, until it
    /// returns ``LarderModel/IterationStep/stop``.
    func forEachMatch<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        try forEachEntry(of: plan, in: transaction) { entry, isMatch throws(LarderError) in
            isMatch ? try body(entry) : .continue
        }
    }

    /// Calls a closure with every document of a plan and the result of its test.
    func forEachEntry<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, in transaction: borrowing T,
        _ body: (borrowing DocumentEntry, Bool) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        var isStopped = false
        var (scanned, bytes) = (0, Int64(0))
        func test(_ entry: borrowing DocumentEntry) throws(LarderError) -> IterationStep {
            scanned += 1
            bytes += entry.storedBytes
            let step = try body(entry, try matcher.matches(entry.record, at: entry.pathView))
            if step == .stop { isStopped = true }
            return step
        }
        defer {
            execution.documentsScanned += scanned
            execution.bytesRead += bytes
            if !plan.indexes.isEmpty { execution.indexEntriesScanned += scanned }
        }
        if case .lookup(let paths, _) = plan {
            for path in paths where !isStopped {
                try transaction.withDocument(at: path, asSeenBy: user) {
                    entry throws(LarderError) in
                    if entry.state == .found { _ = try test(entry) }
                }
            }
            return
        }
        let options = ScanOptions(isReversed: plan.isReversed, user: user)
        for source in plan.sources where !isStopped {
            try transaction.documents(in: source, options: options) { entry throws(LarderError) in
                try test(entry)
            }
        }
    }
}

// MARK: - Memory

extension QueryRun {
    /// Charges the bytes of the documents that are held by now.
    func hold(_ bytes: Int) throws(LarderError) {
        guard let charge, abs(bytes - chargedBytes) >= Self.chargeStep else { return }
        let change = bytes - chargedBytes
        chargedBytes = bytes
        try charge(change)
    }
}

// MARK: - Ordering

extension QueryRun {
    /// For a plan that yields documents in the requested order.
    func firstDocuments<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        let limit = ordering.limit ?? .max
        var documents: [Document] = []
        var bytes = 0
        guard limit > 0 else { return [] }
        try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
            let document = try entry.document()
            documents.append(document)
            if charge != nil { bytes += document.heldBytes }
            try hold(bytes)
            return documents.count < limit ? .continue : .stop
        }
        return documents
    }

    /// For a plan that yields documents in another order.
    func sortedDocuments<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var top = TopDocuments(ordering.limit, by: comparator)
        try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
            try top.offer(entry.record, at: entry.pathView) { () throws(LarderError) in
                try entry.document()
            }
            try hold(top.heldBytes)
            return .continue
        }
        return top.takeSorted()
    }

    /// For plans that each yield documents in the order of some leading fields: each ends after the
    /// last of the requested documents found so far.
    func mergedDocuments<T: ReadableTransaction & ~Copyable>(
        of plans: [QueryPlan], _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var top = TopDocuments(ordering.limit, by: comparator)
        var taken: Set<DocumentPath> = []
        for plan in plans {
            let providedOrder = plan.providedOrder
            let given = DocumentComparator(
                orders: Array(ordering.orders[..<providedOrder.orderCount]))
            try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
                if let last = top.last {
                    let order =
                        providedOrder.isComplete
                        ? try comparator.compare(entry.record, at: entry.pathView, with: last)
                        : try given.compareFields(entry.record, with: last)
                    if order == .orderedDescending {
                        return entry.isCutInIndex ? .continue : .stop
                    }
                }
                if plans.count > 1, taken.contains(entry.path) { return .continue }
                try top.offer(entry.record, at: entry.pathView) { () throws(LarderError) in
                    let document = try entry.document()
                    taken.insert(document.path)
                    return document
                }
                try hold(top.heldBytes)
                return .continue
            }
        }
        return top.takeSorted()
    }

    /// For an index that yields documents in the requested order, except within groups of equal
    /// entries: truncated entries come in any order, and so do all equal entries if only the
    /// document ID is in the wrong direction.
    ///
    /// With enough documents, only entries equal to the last one are read.
    func documentsInIndexOrder<T: ReadableTransaction & ~Copyable>(
        of scan: IndexScan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        let limit = ordering.limit ?? .max
        guard limit > 0 else { return [] }
        let user = user
        var documents: [Document] = []
        var bytes = 0
        var group = EntryGroup()
        var isSorted = true
        // The candidates of the group that contains the limit.
        var top = TopDocuments(ordering.limit, by: comparator)
        var left: Int?
        try forEachEntry(of: .index(scan), in: transaction) {
            entry, isMatch throws(LarderError) in
            if let more = left {
                if isMatch {
                    try top.offer(entry.record, at: entry.pathView) { () throws(LarderError) in
                        try entry.document()
                    }
                    try hold(max(bytes, top.heldBytes))
                }
                left = more - 1
                return more > 1 ? .continue : .stop
            }
            let isCut = entry.isCutInIndex
            let isAlike = isCut || scan.providedOrder.lacksDocumentIDOnly
            if isAlike {
                group.add(entry)
                if isCut || group.seenCount > 1 { isSorted = false }
            }
            if isMatch {
                let document = try entry.document()
                documents.append(document)
                if charge != nil { bytes += document.heldBytes }
                try hold(bytes)
            }
            guard documents.count >= limit else { return .continue }
            guard isAlike else { return .stop }
            let more = try group.size(in: scan, user: user, transaction) - group.seenCount
            guard more > 0 else { return .stop }
            left = more
            for document in documents { top.offer(document) }
            return .continue
        }
        if left == nil {
            if isSorted { return documents }
            for document in documents { top.offer(document) }
        }
        return top.takeSorted()
    }
}

/// Consecutive entries of an index with the same order bytes.
private struct EntryGroup {
    private var bytes: [UInt8] = []
    private(set) var seenCount = 0

    mutating func add(_ entry: borrowing DocumentEntry) {
        let isSame = entry.withUnsafeIndexOrderBytes { $0.elementsEqual(bytes) } ?? false
        if isSame {
            seenCount += 1
        } else {
            bytes = entry.indexOrderBytes ?? []
            seenCount = 1
        }
    }

    func size<T: ReadableTransaction & ~Copyable>(
        in scan: IndexScan, user: UserID, _ transaction: borrowing T
    ) throws(LarderError) -> Int {
        let bound = ScanBound.orderBytes(bytes)
        let source = DocumentSource.index(
            scan.index.id, in: scan.collection, from: bound, to: bound)
        var count = 0
        try transaction.documents(
            in: source, options: ScanOptions(readsNamesOnly: true, user: user)
        ) { _ throws(LarderError) in
            count += 1
            return .continue
        }
        return count
    }
}

extension DocumentEntry {
    /// Whether the entry may be truncated.
    fileprivate var isCutInIndex: Bool {
        (withUnsafeIndexOrderBytes(\.count) ?? 0) >= KeyRange.exactBytes
    }
}
