import LarderDocumentStore
import LarderModel
import LarderQuery

/// Guesses how many documents parts of a plan lead to, from counts that the store keeps and
/// from counting the first entries of a range.
struct PlanEstimator {
    let user: UserID
    /// Documents in the query's place.
    let documentCount: Double
    /// Entries of a range that are counted before the rest is guessed.
    private let sampleSize: Int

    /// - Parameter rangeCount: how many ranges may be asked about: the more, the less is counted
    ///   of each.
    init<T: ReadableTransaction & ~Copyable>(
        _ place: NameScan.Place, _ indexes: [IndexInfo], user: UserID, rangeCount: Int,
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

    /// The documents of a collection that have pending writes, which the store does not count among
    /// the collection's: counted while they are few, else as many as an index says that there are.
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
        // Not those with an entry for each element of an array.
        let single = indexes.filter { !$0.definition.segments.contains { $0.kind == .contains } }
        return Double(max(Int64(count), single.map(\.entryCount).max() ?? 0))
    }

    /// The entries in a scan's ranges: counted while they are few, else guessed.
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
                // Nothing says more: halfway, on a logarithmic scale, to all there are.
                return max(Double(count), (Double(count) * all).squareRoot())
            }
        }
        return Double(count)
    }

    /// The documents in a range of names.
    func documentCount(of scan: NameScan) -> Double {
        if scan.isUnbounded { return documentCount }
        return documentCount / (scan.isBounded ? 8 : 2)
    }

    /// The documents of a collection that were read after a version or have pending writes:
    /// counted while they are few, else all.
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
