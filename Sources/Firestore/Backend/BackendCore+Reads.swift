import LarderCore
import LarderDocumentStore
package import LarderModel
import LarderPlanning
import LarderQuery
package import LarderRemote
import Synchronization

/// Reads, which run on the caller's thread.
extension BackendCore {
    /// The approximate size of a page of documents.
    private nonisolated static let pageBytes: Int64 = 1 << 20

    /// Documents as of one commit, in the order of the paths, and the version of the commit.
    ///
    /// - Throws: `permissionDenied` if the rules deny a document; in a transaction, `aborted` if
    ///   something read before has changed.
    nonisolated func documents(
        at paths: [DocumentPath], as credentials: Credentials, in transaction: TransactionID?,
        asOf moment: SnapshotVersion = .none
    ) throws(LarderError) -> (readings: [DocumentReading], version: SnapshotVersion) {
        var readings: [DocumentReading] = []
        var version = SnapshotVersion.none
        try forEachDocument(
            at: paths, as: credentials, in: transaction, asOf: moment,
            began: { found throws(LarderError) in version = found }
        ) { reading throws(LarderError) in
            readings.append(reading)
        }
        return (readings, version)
    }

    /// Passes documents to a closure, in the order of the paths and as of one commit.
    ///
    /// Reads page by page, so that neither the rules nor the closure run inside a read transaction
    /// of the store.
    ///
    /// - Parameter began: called with the version of the commit before the first document.
    nonisolated func forEachDocument(
        at paths: [DocumentPath], as credentials: Credentials, in transaction: TransactionID?,
        asOf moment: SnapshotVersion = .none,
        began: (SnapshotVersion) throws(LarderError) -> Void,
        _ body: (DocumentReading) throws(LarderError) -> Void
    ) throws(LarderError) {
        let rulesCheck = rulesCheck(credentials)
        try countingRead { () throws(LarderError) in
            // Outside of a transaction, only this pin retains the commit between pages.
            let kept =
                if paths.count > 1, transaction == nil {
                    try keptSnapshot(at: moment)
                } else {
                    PinnedSnapshot?.none
                }
            var rest = paths[...]
            repeat {
                var page: [(path: DocumentPath, document: Document?)] = []
                let version = try read(in: transaction, asOf: moment, from: kept) {
                    (snapshot, _, reads) throws(LarderError) in
                    page = try snapshot.page(of: rest, bytes: Self.pageBytes)
                    for (path, document) in page { reads.add(path, document?.version) }
                }
                if rest.count == paths.count { try began(version) }
                let floor = floor(at: version)
                for (path, document) in page {
                    try rulesCheck.require(.get(path), existing: document)
                    try body(
                        document.map { DocumentReading(found: $0.served(above: floor)) }
                            ?? DocumentReading(path: path, contents: .absent, version: version))
                }
                rest.removeFirst(page.count)
            } while !rest.isEmpty
        }
    }

    /// Aggregations over the documents that match a query, in the order of the aggregates, their
    /// execution, and the version of the commit.
    nonisolated func aggregate(
        _ aggregates: [Aggregate], over query: Query, offset: Int = 0,
        as credentials: Credentials, in transaction: TransactionID?,
        asOf moment: SnapshotVersion = .none,
        memory: MemoryAccount? = nil
    ) throws(LarderError) -> (
        values: [Value], execution: QueryExecution?, version: SnapshotVersion
    ) {
        try check(query, rulesCheck(credentials))
        let memory = memory?.open()
        defer { memory?.close() }
        var values: [Aggregate: Value] = [:]
        var execution: QueryExecution?
        let version = try read(in: transaction, asOf: moment) {
            (snapshot, _, reads) throws(LarderError) in
            let result = try runner.aggregate(
                aggregates, over: query, offset: offset, in: snapshot,
                charge: memory?.queryCharge)
            (values, execution) = (result.values, result.execution)
            reads.add(query, offset: offset, values)
        }
        return (aggregates.map { values[$0] ?? .null }, execution, version)
    }

    /// Passes the documents that match a query to a closure, in the query's order and as of one
    /// commit.
    ///
    /// - Parameters:
    ///   - memory: is charged for the documents that are held.
    ///   - began: called with the version of the commit before the first document.
    /// - Returns: the version of the commit.
    nonisolated func run(
        _ query: Query, as credentials: Credentials, in transaction: TransactionID?,
        asOf moment: SnapshotVersion = .none, memory: MemoryAccount? = nil,
        began: (SnapshotVersion) throws(LarderError) -> Void,
        _ body: (Document) throws(LarderError) -> IterationStep
    ) throws(LarderError) -> SnapshotVersion {
        try check(query, rulesCheck(credentials))
        let memory = memory?.open()
        defer { memory?.close() }
        return try read(in: transaction, asOf: moment) {
            (snapshot, version, reads) throws(LarderError) in
            try began(version)
            var matches: [ReadSet.Match] = []
            var isWhole = false
            // Documents passed to the closure are in the read set even if the closure stops.
            defer {
                if isWhole {
                    reads.add(query, matches)
                } else {
                    reads.add(beginningOf: query, matches)
                }
            }
            let isNoted = transaction != nil
            let floor = floor(at: version)
            var last = IterationStep.continue
            try runner.forEachDocument(
                of: query, in: snapshot, charge: memory?.queryCharge
            ) { document throws(LarderError) in
                if isNoted {
                    matches.append(ReadSet.Match(path: document.path, version: document.version))
                }
                last = try body(document.served(above: floor))
                return last
            }
            isWhole = last == .continue
        }
    }

    /// The version below which no document of a commit is served.
    nonisolated func floor(at commit: SnapshotVersion) -> SnapshotVersion {
        floors.withLock { $0.floor(at: commit) }
    }

    /// Throws unless a query is valid and allowed by the rules.
    nonisolated func check(_ query: Query, _ rulesCheck: RulesCheck) throws(LarderError) {
        try query.validate()
        try query.validateForService()
        switch query.source {
        case .collection(let path): try rulesCheck.require(.list(path))
        case .group(let id): try rulesCheck.require(.listGroup(id))
        case .document(let path):
            let document = try read { (snapshot) throws(LarderError) in
                try snapshot.document(at: path)
            }
            try rulesCheck.require(.get(path), existing: document.flatMap { $0.exists ? $0 : nil })
        }
    }

    /// The last retained commit up to a time, otherwise the newest commit, pinned.
    nonisolated func keptSnapshot(at moment: SnapshotVersion)
        throws(LarderError) -> PinnedSnapshot
    {
        if let kept = history.snapshot(at: moment) { return kept }
        return try store.pinSnapshot()
    }

    /// Reads from a pinned commit or from the newest.
    ///
    /// - Throws: errors of the closure; `unavailable` if the backend is closed.
    nonisolated func read<R: ~Copyable>(
        from snapshot: PinnedSnapshot? = nil,
        _ body: (borrowing ReadTransaction) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        try countingRead { () throws(LarderError) in
            if let snapshot { return try snapshot.read(body) }
            return try store.read(body)
        }
    }

    /// Runs a closure and counts it as a read in progress.
    ///
    /// - Throws: errors of the closure; `unavailable` if the backend is closed.
    private nonisolated func countingRead<R: ~Copyable>(
        _ body: () throws(LarderError) -> R
    ) throws(LarderError) -> R {
        readCount.add(1, ordering: .relaxed)
        defer { readCount.subtract(1, ordering: .relaxed) }
        do throws(LarderError) {
            return try body()
        } catch {
            let isClosed = error.condition == .transactionEnded && transactions.isClosed
            throw isClosed ? Self.closed : error
        }
    }

    /// Reads from the newest commit, from the last one up to a time or from that of a transaction,
    /// and adds the reads to the transaction's read set.
    ///
    /// - Parameter snapshot: the commit to read if it is known, outside of a transaction.
    /// - Parameter body: called with the commit, its version, and the read set to fill.
    /// - Returns: the version of the commit.
    /// - Throws: `failedPrecondition` if the commit is not retained.
    nonisolated func read(
        in id: TransactionID?, asOf moment: SnapshotVersion = .none,
        from snapshot: PinnedSnapshot? = nil,
        _ body: (borrowing ReadTransaction, SnapshotVersion, inout ReadSet)
            throws(LarderError) -> Void
    ) throws(LarderError) -> SnapshotVersion {
        guard let id else {
            var reads = ReadSet()
            let kept = snapshot ?? history.snapshot(at: moment)
            func readAll(_ snapshot: borrowing ReadTransaction)
                throws(LarderError) -> SnapshotVersion
            {
                let version = try snapshot.commitVersion()
                guard moment.isNone || version <= moment else { throw history.tooOld(moment) }
                try body(snapshot, version, &reads)
                return version
            }
            return try read(from: kept, readAll)
        }
        try renewSnapshot(of: id)
        let (earlier, pinned) = try transactions.beginRead(in: id, at: clock()) {
            (moment) throws(LarderError) in
            try keptSnapshot(at: moment)
        }
        var reads = ReadSet()
        var version = SnapshotVersion.none
        func readAll(_ snapshot: borrowing ReadTransaction) throws(LarderError) {
            let found = try snapshot.commitVersion()
            guard earlier.asOf.isNone || found <= earlier.asOf else {
                throw history.tooOld(earlier.asOf)
            }
            // All reads of a transaction must be of one snapshot.
            if earlier.version < found { try earlier.verify(in: snapshot, runner) }
            version = found
            try body(snapshot, found, &reads)
        }
        let result = Result { () throws(LarderError) in try read(from: pinned, readAll) }
        let noted = Result { () throws(LarderError) in
            try transactions.endRead(in: id, adding: reads, at: version, now: clock())
        }
        try result.get()
        try noted.get()
        return version
    }

    /// Lets a transaction that holds locks read the newest commit, if all that it has read is valid
    /// there; otherwise its reads remain those of its first commit.
    private nonisolated func renewSnapshot(of id: TransactionID) throws(LarderError) {
        guard let reads = transactions.renewableReads(of: id) else { return }
        let newest = try keptSnapshot(at: .none)
        let isNewer = try? newest.read { (snapshot) throws(LarderError) in
            guard try snapshot.commitVersion() > reads.version else { return false }
            try reads.verify(in: snapshot, runner)
            return true
        }
        let former = isNewer == true ? transactions.renew(newest, of: id) : newest
        former?.end()
    }
}

extension MemoryAccount {
    /// Charges the account for the documents that a query holds while it runs; ends the query once
    /// the account is closed, and a large one if memory is used up.
    var queryCharge: QueryCharge {
        { [self] (bytes) throws(LarderError) in
            change(by: bytes)
            guard !isClosed else { throw LarderError(.cancelled, "the query is cancelled") }
            guard !isOverdrawn else {
                throw LarderError(
                    .resourceExhausted,
                    "the server's memory is in use, and this query holds \(heldBytes) bytes")
            }
        }
    }
}

extension ReadTransaction {
    /// Reads the first documents of a list, at least one; nil for each that does not exist.
    fileprivate borrowing func page(of paths: ArraySlice<DocumentPath>, bytes limit: Int64)
        throws(LarderError) -> [(path: DocumentPath, document: Document?)]
    {
        var page: [(path: DocumentPath, document: Document?)] = []
        var bytes: Int64 = 0
        for path in paths {
            let document = try document(at: path)
            page.append((path, document.flatMap { $0.exists ? $0 : nil }))
            bytes += document?.record?.sizeBytes ?? 0
            if bytes >= limit { break }
        }
        return page
    }
}

extension DocumentReading {
    /// The reading of an existing document.
    package init(found document: Document) {
        self.init(
            path: document.path,
            contents: document.record.map { .found($0, createTime: document.createTime) }
                ?? .absent,
            version: document.version)
    }
}
