import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// The reads of a transaction, which are validated when it commits.
struct ReadSet: Sendable {
    /// A document in the results of a query.
    struct Match: Sendable, Equatable {
        let path: DocumentPath
        let version: SnapshotVersion
    }

    private struct QueryRead: Sendable {
        let query: Query
        let matches: [Match]
    }

    private struct AggregateRead: Sendable {
        let query: Query
        let offset: Int
        let values: [Aggregate: Value]
    }

    /// The last commit for which the reads are valid; none before the first read.
    private(set) var version = SnapshotVersion.none
    /// The read time; none for that of the first read.
    let asOf: SnapshotVersion
    /// The versions of documents read by name; none for absent ones.
    private var documents: [DocumentPath: SnapshotVersion] = [:]
    private var queries: [QueryRead] = []
    private var aggregates: [AggregateRead] = []
    /// The approximate size in memory of the documents read by name.
    private var documentBytes = 0
    /// The approximate size in memory of queries with their results, and of aggregations.
    private var queryBytes = 0
    /// The approximate size in memory.
    var bytes: Int { documentBytes + queryBytes }

    /// The number of documents that were read, as often as queries have found them.
    var documentCount: Int { documents.count + matchCount }
    private var matchCount = 0

    /// The size of a path and its version, without the path's text.
    private static let entryBytes = 80

    /// Creates an empty read set.
    init(asOf: SnapshotVersion = .none) {
        self.asOf = asOf
    }

    var paths: some Collection<DocumentPath> { documents.keys }

    /// Whether validation has to run queries again.
    var hasQueries: Bool { !queries.isEmpty || !aggregates.isEmpty }

    /// What a transaction with these reads holds locks on: documents, those that queries have
    /// found, and queries.
    var lockKeys: [LockKey] {
        documents.keys.map { .document($0) }
            + queries.flatMap { read in
                [LockKey(read.query)] + read.matches.map { .document($0.path) }
            } + aggregates.map { LockKey($0.query) }
    }

    /// Whether it takes little time to find out that all reads are still valid.
    var isQuicklyVerified: Bool { !hasQueries && documents.count <= 64 }

    /// Adds a document; nil for one that does not exist.
    mutating func add(_ path: DocumentPath, _ version: SnapshotVersion?) {
        let earlier = documents.updateValue(version ?? SnapshotVersion.none, forKey: path)
        if earlier == nil { documentBytes += Self.bytes(of: path) }
    }

    private static func bytes(of path: DocumentPath) -> Int {
        entryBytes + path.string.utf8.count
    }

    /// Adds the results of a query, in order.
    mutating func add(_ query: Query, _ matches: [Match]) {
        queries.append(QueryRead(query: query, matches: matches))
        matchCount += matches.count
        queryBytes += matches.reduce(query.heldBytes) { $0 + Self.bytes(of: $1.path) }
    }

    /// Adds the first results of a query of which no more were read.
    mutating func add(beginningOf query: Query, _ matches: [Match]) {
        guard !matches.isEmpty else { return }
        if case .last = query.limit {
            // Depends on documents that were not read, so that only the matches can be validated.
            for match in matches { add(match.path, match.version) }
            return
        }
        var beginning = query
        beginning.limit = .first(matches.count)
        add(beginning, matches)
    }

    mutating func add(_ query: Query, offset: Int, _ values: [Aggregate: Value]) {
        aggregates.append(AggregateRead(query: query, offset: offset, values: values))
        queryBytes += values.values.reduce(query.heldBytes) { $0 + $1.heldBytes }
    }

    /// Adds reads of the same or a later commit.
    mutating func formUnion(_ other: ReadSet, at version: SnapshotVersion) {
        self.version = max(self.version, version)
        for (path, version) in other.documents where documents[path] == nil { add(path, version) }
        queries += other.queries
        matchCount += other.matchCount
        aggregates += other.aggregates
        queryBytes += other.queryBytes
    }

    /// Throws `aborted` if a document read by name has changed.
    ///
    /// - Parameters:
    ///   - current: the current version of a document; nil if it does not exist.
    ///   - changed: receives what has changed.
    func verify(
        _ current: (DocumentPath) -> SnapshotVersion?, _ changed: inout [LockKey]
    ) throws(LarderError) {
        for (path, version) in documents where (current(path) ?? .none) != version {
            changed.append(.document(path))
            throw Self.conflict("the document '\(path)'")
        }
    }

    /// Throws `aborted` if any of the reads has changed.
    func verify<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, _ runner: QueryRunner
    ) throws(LarderError) {
        for (path, version) in documents {
            let current = try transaction.withDocument(at: path) { entry throws(LarderError) in
                entry.state == .found ? entry.version : .none
            }
            guard (current ?? .none) == version else { throw Self.conflict("'\(path)'") }
        }
        var changed: [LockKey] = []
        try verifyQueries(in: transaction, runner, &changed)
    }

    /// Throws `aborted` if the results of a query or aggregation have changed.
    ///
    /// - Parameter changed: receives what has changed.
    func verifyQueries<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, _ runner: QueryRunner, _ changed: inout [LockKey]
    ) throws(LarderError) {
        for read in queries {
            let found = try runner.run(read.query, in: transaction).documents
            guard found.map({ Match(path: $0.path, version: $0.version) }) == read.matches else {
                changed.append(LockKey(read.query))
                throw Self.conflict("the result of a query")
            }
        }
        for read in aggregates {
            let values = try runner.aggregate(
                Array(read.values.keys), over: read.query, offset: read.offset, in: transaction
            ).values
            guard values == read.values else {
                changed.append(LockKey(read.query))
                throw Self.conflict("the result of an aggregation")
            }
        }
    }

    private static func conflict(_ what: String) -> LarderError {
        LarderError(.aborted, "\(what) has changed since the transaction read it")
    }
}
