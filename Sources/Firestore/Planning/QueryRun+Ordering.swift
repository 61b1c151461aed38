import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery

extension QueryRun {
    /// For a plan that gives documents in the wanted order.
    func first<T: ReadableTransaction & ~Copyable>(
        of plan: QueryPlan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        let limit = arrangement.limit ?? .max
        var documents: [Document] = []
        guard limit > 0 else { return [] }
        try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
            documents.append(try entry.document())
            return documents.count < limit ? .continue : .stop
        }
        return documents
    }

    /// For a plan that gives documents in another order.
    func sorted<T: ReadableTransaction & ~Copyable>(
        _ plan: QueryPlan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var top = TopDocuments(arrangement.limit, by: comparator)
        try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
            try top.offer(entry.record, at: entry.pathView) { () throws(LarderError) in
                try entry.document()
            }
            return .continue
        }
        return top.takeSorted()
    }

    /// For plans that each give documents in the order of some of the first fields: each is left
    /// once it comes behind the last of the documents that are wanted so far.
    func merged<T: ReadableTransaction & ~Copyable>(
        _ plans: [QueryPlan], _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        var top = TopDocuments(arrangement.limit, by: comparator)
        var taken: Set<DocumentPath> = []
        for plan in plans {
            let delivery = plan.delivery
            let given = DocumentComparator(
                orders: Array(arrangement.orders[..<delivery.orderCount]))
            try forEachMatch(of: plan, in: transaction) { entry throws(LarderError) in
                if let last = top.last {
                    let order =
                        delivery.isComplete
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
                return .continue
            }
        }
        return top.takeSorted()
    }

    /// For an index that gives documents in the wanted order, but for those whose entries are
    /// alike: cut ones come in any order, and where the name goes the wrong way, others, too.
    ///
    /// Once there are enough, only what is like the last one is read on.
    func ordered<T: ReadableTransaction & ~Copyable>(
        _ scan: IndexScan, _ transaction: borrowing T
    ) throws(LarderError) -> [Document] {
        let limit = arrangement.limit ?? .max
        guard limit > 0 else { return [] }
        let user = user
        var documents: [Document] = []
        var group = EntryGroup()
        var isSorted = true
        // What competes with the last of the group that the limit falls into.
        var top = TopDocuments(arrangement.limit, by: comparator)
        var left: Int?
        try forEachEntry(of: .index(scan), in: transaction) {
            entry, isMatch throws(LarderError) in
            if let more = left {
                if isMatch {
                    try top.offer(entry.record, at: entry.pathView) { () throws(LarderError) in
                        try entry.document()
                    }
                }
                left = more - 1
                return more > 1 ? .continue : .stop
            }
            let isCut = entry.isCutInIndex
            let isAlike = isCut || scan.delivery.lacksNameOnly
            if isAlike {
                group.add(entry)
                if isCut || group.seenCount > 1 { isSorted = false }
            }
            if isMatch { documents.append(try entry.document()) }
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

/// Entries of an index with the same order bytes, met one after the other.
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

    /// How many entries there are with these bytes.
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
    /// Whether the index entry that led here may be cut, so that it says no more than the first
    /// bytes of its place in the order.
    fileprivate var isCutInIndex: Bool {
        (withUnsafeIndexOrderBytes(\.count) ?? 0) >= KeyRange.exactBytes
    }
}
