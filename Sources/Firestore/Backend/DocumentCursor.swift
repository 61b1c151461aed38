package import LarderCore
import LarderDocumentStore
package import LarderModel
import LarderPlanning
package import LarderQuery
package import LarderRemote
import Synchronization

/// Reads the documents of a request in portions, so that no thread waits for the client in between.
///
/// ```
/// beginning --> suspended --> suspended --> ... --> end
///                 pinned: the same commit, from the position
///                 otherwise: the newest commit, from the position
/// ```
///
/// All portions are of one commit while it is pinned: until ``unpin()``, and only for a limited
/// number of cursors. One portion is read at a time; other methods can be called from any thread.
package final class DocumentCursor: Sendable {
    /// The documents to read.
    package enum Source: Sendable {
        /// The results of a query, in its order.
        case query(Query)
        /// Documents by path, including missing ones.
        case paths([DocumentPath])
        /// The documents below a document, or of all collections for nil, in name order: at any
        /// depth, or in the direct subcollections.
        case descendants(of: DocumentPath?, directly: Bool, in: DocumentNameRange)
    }

    private struct State {
        /// The documents that follow, if they are known.
        var rest: ArraySlice<DocumentPath>?
        /// The position in the query's order: the last document's values, and the number of
        /// documents so far.
        var last: [Value]?
        var count = 0
        var pin: PinnedSnapshot?
        /// True if ``rest`` is of the pinned commit, or of the transaction's.
        var isRestValid = false
        /// True if nothing has been read.
        var isNew = true
        var isClosed = false
    }

    /// The maximum number of cursors of a backend that pin a commit.
    static let maxPinned = 128
    /// The size of a path in memory, without its text.
    private static let pathBytes = 48

    private let core: BackendCore
    private let source: Source
    private let credentials: Credentials
    private let transaction: TransactionID?
    private let moment: SnapshotVersion
    private let memory: MemoryAccount?
    private let state = Mutex(State())

    fileprivate init(
        _ core: BackendCore, _ source: Source, _ credentials: Credentials,
        _ transaction: TransactionID?, _ moment: SnapshotVersion, _ memory: MemoryAccount?
    ) {
        self.core = core
        self.source = source
        self.credentials = credentials
        self.transaction = transaction
        self.moment = moment
        self.memory = memory?.open()
        // A backend with suspended reads is in use.
        core.readCount.add(1, ordering: .relaxed)
    }

    deinit {
        close()
    }

    /// Reads the next documents, and suspends the cursor after a number of bytes.
    ///
    /// - Parameters:
    ///   - maxBytes: the size of documents after which the portion ends.
    ///   - body: called with the version of the commit and each document, outside of read
    ///     transactions.
    /// - Returns: the version of the commit, and whether nothing follows.
    /// - Throws: errors of the closure; `cancelled` for a closed cursor; and as the backend's other
    ///   reads.
    package func next(
        maxBytes: Int,
        _ body: (SnapshotVersion, DocumentPath, Document?) throws(LarderError) -> Void
    ) throws(LarderError) -> (version: SnapshotVersion, isLast: Bool) {
        let pin = try pinned()
        var known = try state.withLock { state throws(LarderError) in
            guard !state.isClosed else { throw LarderError(.cancelled, "the read is closed") }
            return state
        }
        let rulesCheck = core.rulesCheck(credentials)
        if known.isNew, case .query(let query) = source { try core.check(query, rulesCheck) }
        var portion = Portion(left: maxBytes)
        var isLast = true
        let version: SnapshotVersion
        do throws(LarderError) {
            version = try core.read(in: transaction, asOf: moment, from: pin) {
                (snapshot, _, reads) throws(LarderError) in
                if case .query(let query) = source, known.rest == nil || !known.isRestValid {
                    isLast = try read(query, &known, &portion, &reads, in: snapshot)
                } else {
                    isLast = try readPaths(&known, &portion, &reads, in: snapshot)
                }
            }
        } catch  where pin != nil && error.condition == .transactionEnded {
            throw BackendCore.closed
        }
        known.isNew = false
        let floor = core.floor(at: version)
        for (path, document) in portion.documents {
            if case .query = source {
            } else {
                try rulesCheck.require(.get(path), existing: document)
            }
            try body(version, path, document?.served(above: floor))
        }
        if isLast { charge(0) } else { suspend(known) }
        return (version, isLast)
    }

    /// Releases the pinned commit: the next portion is of a later one.
    package func unpin() {
        release { $0.isRestValid = self.transaction != nil }
    }

    /// Releases everything; a later portion fails.
    package func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        release { $0.rest = nil }
        memory?.close()
        core.readCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Pinning

    /// The pinned commit; nil in a transaction, which has its own, and where too many are pinned.
    private func pinned() throws(LarderError) -> PinnedSnapshot? {
        guard transaction == nil else { return nil }
        return try state.withLock { state throws(LarderError) in
            if state.pin != nil || state.isClosed { return state.pin }
            // Under the lock, so that nothing is pinned after the backend is closed.
            state.pin = try core.pins.withLock { pins throws(LarderError) in
                guard !pins.isClosed else { throw BackendCore.closed }
                guard pins.snapshots.count < Self.maxPinned else { return nil }
                let pin = try core.keptSnapshot(at: moment)
                pins.snapshots[ObjectIdentifier(self)] = pin
                return pin
            }
            return state.pin
        }
    }

    private func release(_ change: (inout State) -> Void) {
        let pin = state.withLock { state in
            change(&state)
            defer { state.pin = nil }
            return state.pin
        }
        // It is released by its last reference: one of the history has others.
        guard pin != nil else { return }
        _ = core.pins.withLock { $0.snapshots.removeValue(forKey: ObjectIdentifier(self)) }
    }

    private func suspend(_ known: State) {
        charge((known.rest ?? []).reduce(0) { $0 + Self.pathBytes + $1.string.utf8.count })
        state.withLock { state in
            (state.rest, state.last, state.count) = (known.rest, known.last, known.count)
            state.isNew = false
            state.isRestValid = state.pin != nil || transaction != nil
        }
    }

    /// Charges the account for a number of bytes in all.
    private func charge(_ bytes: Int) {
        memory?.change(by: bytes - (memory?.heldBytes ?? 0))
    }

    // MARK: Reading

    private struct Portion {
        var documents: [(path: DocumentPath, document: Document?)] = []
        /// The bytes that fit in.
        var left: Int

        var isFull: Bool { left <= 0 }

        mutating func add(_ path: DocumentPath, _ document: Document?) {
            documents.append((path, document))
            left -= DocumentCursor.pathBytes + Int(document?.record?.sizeBytes ?? 0)
        }
    }

    /// Reads results of a query from the position.
    ///
    /// - Returns: whether nothing follows.
    private func read(
        _ query: Query, _ known: inout State, _ portion: inout Portion, _ reads: inout ReadSet,
        in snapshot: borrowing ReadTransaction
    ) throws(LarderError) -> Bool {
        guard let query = query.following(known.last, count: known.count) else { return true }
        var matches: [ReadSet.Match] = []
        var last: Document?
        let rest = try core.runner.remainder(
            of: query, in: snapshot, charge: memory?.queryCharge
        ) { document in
            portion.add(document.path, document)
            if transaction != nil { matches.append(.init(document)) }
            last = document
            return portion.isFull ? .stop : .continue
        }
        if let rest {
            if transaction != nil { matches += rest.map { .init($0) } }
            reads.add(query, matches)
        } else {
            reads.add(beginningOf: query, matches)
        }
        known.count += portion.documents.count
        known.rest = rest.map { $0.map(\.path)[...] }
        if let last { known.last = values(of: last, in: query) }
        return rest?.isEmpty ?? false
    }

    /// Reads documents of which the paths are known.
    ///
    /// - Returns: whether nothing follows.
    private func readPaths(
        _ known: inout State, _ portion: inout Portion, _ reads: inout ReadSet,
        in snapshot: borrowing ReadTransaction
    ) throws(LarderError) -> Bool {
        var rest = if let known = known.rest { known } else { try paths(in: snapshot) }
        while !portion.isFull, let path = rest.popFirst() {
            let found = try snapshot.document(at: path)
            let document = found?.exists == true ? found : nil
            switch source {
            case .paths:
                reads.add(path, document?.version)
                portion.add(path, document)
            case .descendants: if let document { portion.add(path, document) }
            case .query(let query):
                guard let document else { continue }
                portion.add(path, document)
                known.count += 1
                known.last = values(of: document, in: query)
            }
        }
        known.rest = rest
        return rest.isEmpty
    }

    private func paths(in snapshot: borrowing ReadTransaction)
        throws(LarderError) -> ArraySlice<DocumentPath>
    {
        switch source {
        case .paths(let paths): paths[...]
        case .descendants(let parent, let isDirect, let range):
            try snapshot.descendants(of: parent, directly: isDirect, in: range)[...]
        case .query: []
        }
    }

    private func values(of document: Document, in query: Query) -> [Value] {
        query.orders.map { order in
            order.path.isDocumentID
                ? .reference(
                    ResourceName(database: core.runner.databaseID, document: document.path))
                : document[order.path] ?? .null
        }
    }
}

extension Query {
    /// The query of the results after some first ones; nil if the limit is reached.
    ///
    /// - Parameter last: the order's values of the last result; nil if there is none.
    fileprivate func following(_ last: [Value]?, count: Int) -> Query? {
        guard let last else { return self }
        var query = self
        query.start = Bound(last, isInclusive: false)
        switch limit {
        case .first(let limit):
            guard limit > count else { return nil }
            query.limit = .first(limit - count)
        case .last(let limit):
            guard limit > count else { return nil }
            query.limit = .last(limit - count)
        case nil: break
        }
        return query
    }
}

extension ReadSet.Match {
    fileprivate init(_ document: Document) {
        self.init(path: document.path, version: document.version)
    }
}

extension Backend {
    /// A cursor of documents as of one commit, see ``DocumentCursor``.
    ///
    /// - Parameters:
    ///   - transaction: the transaction of the read, if any.
    ///   - moment: the read time; none for now.
    ///   - memory: is charged for the documents that a portion holds, and for the names of those
    ///     that follow it.
    package func cursor(
        _ source: DocumentCursor.Source, as credentials: Credentials,
        in transaction: TransactionID? = nil, asOf moment: SnapshotVersion = .none,
        memory: MemoryAccount? = nil
    ) -> DocumentCursor {
        DocumentCursor(core, source, credentials, transaction, moment, memory)
    }
}
