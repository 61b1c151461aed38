import LarderDocumentStore
import LarderModel
import LarderQuery

/// Estimates the number of documents that parts of a plan yield, from the store's counts and from
/// counting the first entries of a range.
struct PlanEstimator {
    let user: UserID
    /// The number of documents in the query's scope.
    let documentCount: Double
    /// The number of entries of a range to count before the rest is estimated.
    private let sampleSize: Int

    /// - Parameter rangeCount: the number of ranges to estimate: the more, the fewer entries of
    ///   each are counted.
    init<T: ReadableTransaction & ~Copyable>(
        _ place: DocumentIDScan.Place, _ indexes: [IndexInfo], user: UserID, rangeCount: Int,
        in transaction: borrowing T
    ) throws(LarderError) {
        self.user = user
        sampleSize = max(PlanCosts.sampleSize / max(rangeCount, 1), 16)
        switch place {
        case .collection(let path):
            let known = Double(try transaction.collection(at: path)?.documentCount ?? 0)
            let pending = try Self.pendingCount(of: user, in: path, indexes, transaction)
            documentCount = known + pending + 10
        case .group:
            let entries = indexes.map { Double($0.entryCount) }.max() ?? 0
            documentCount = max(2 * entries, PlanCosts.guessedGroupCount)
        }
    }

    /// The number of documents of a collection with pending writes, which the store's count omits:
    /// counted if there are few, otherwise estimated from an index.
    private static func pendingCount<T: ReadableTransaction & ~Copyable>(
        of user: UserID, in path: CollectionPath, _ indexes: [IndexInfo],
        _ transaction: borrowing T
    ) throws(LarderError) -> Double {
        var count = 0
        try transaction.documents(
            in: .overlays(of: user, in: path),
            options: ScanOptions(readsNamesOnly: true, includesAllStates: true)
        ) { _ throws(LarderError) in
            count += 1
            return count < PlanCosts.pendingSampleSize ? .continue : .stop
        }
        guard count == PlanCosts.pendingSampleSize else { return Double(count) }
        // Not array indexes, which have an entry for each element.
        let single = indexes.filter { !$0.definition.segments.contains { $0.kind == .contains } }
        return Double(max(Int64(count), single.map(\.entryCount).max() ?? 0))
    }

    /// The number of entries in a scan's ranges: counted if there are few, otherwise estimated.
    func entryCount<T: ReadableTransaction & ~Copyable>(
        of scan: IndexScan, in transaction: borrowing T
    ) throws(LarderError) -> Double {
        let all = Double(scan.index.entryCount)
        if scan.isUnbounded {
            return scan.collection == nil ? all : min(all, documentCount)
        }
        var count = 0
        let options = ScanOptions(readsNamesOnly: true, user: user)
        for source in scan.sources {
            try transaction.documents(in: source, options: options) { _ throws(LarderError) in
                count += 1
                return count < sampleSize ? .continue : .stop
            }
            guard count < sampleSize else {
                // Without further statistics: the geometric mean of the sample size and the total.
                return max(Double(count), (Double(count) * all).squareRoot())
            }
        }
        return Double(count)
    }

    /// The number of documents in a range of names.
    func documentCount(of scan: DocumentIDScan) -> Double {
        if scan.isUnbounded { return documentCount }
        return documentCount / (scan.isBounded ? 8 : 2)
    }

    /// The number of documents of a collection that were read after a version or have pending
    /// writes: counted if there are few, otherwise all.
    func changeCount<T: ReadableTransaction & ~Copyable>(
        after version: SnapshotVersion, in collection: CollectionPath, _ transaction: borrowing T
    ) throws(LarderError) -> Double {
        var count = 0
        for source in [
            DocumentSource.readAfter(version, in: collection),
            .overlays(of: user, in: collection),
        ] {
            let options = ScanOptions(readsNamesOnly: true, includesAllStates: true)
            try transaction.documents(in: source, options: options) { _ throws(LarderError) in
                count += 1
                return count < sampleSize ? .continue : .stop
            }
            guard count < sampleSize else { return documentCount }
        }
        return Double(count)
    }
}

/// The costs of a plan's steps, in units of reading and testing one document in a scan by name.
enum PlanCosts {
    /// Finding a document through an index entry or its name.
    static let lookup = 2.5
    /// Reading an index entry.
    static let entry = 0.3
    /// Adding a name to a set and reading it back.
    static let setMember = 0.5
    /// Sorting one matching document.
    static let sort = 0.4
    /// Opening a scan.
    static let open = 3.0

    /// The number of entries of a range to count before the rest is estimated.
    static let sampleSize = 256
    /// The number of documents with pending writes to count before their number is estimated from
    /// an index.
    static let pendingSampleSize = 64
    /// The assumed ratio of documents to matches, without statistics.
    static let guessedSelectivity = 4.0
    /// The assumed number of documents in a group, without statistics.
    static let guessedGroupCount = 1000.0
    /// The maximum number of indexes in an intersection.
    static let maxIntersection = 4
}
