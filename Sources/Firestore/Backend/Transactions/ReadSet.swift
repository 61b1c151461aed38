import LarderModel
import LarderPlanning
import LarderQuery
import LarderStorage

/// What a transaction has read: its commit is made only while all of it is still so.
struct ReadSet: Sendable {
    /// A document that a query found.
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
        let values: [Aggregate: Value]
    }

    /// The last commit when all of this was so; none while nothing was read.
    private(set) var version = SnapshotVersion.none
    /// The moment that all is to be read of; none for one that the first read decides.
    let asOf: SnapshotVersion
    /// The documents that were read by name, with their versions; none for those not there.
    private var documents: [DocumentPath: SnapshotVersion] = [:]
    private var queries: [QueryRead] = []
    private var aggregates: [AggregateRead] = []

    /// Nothing was read yet.
    init(asOf: SnapshotVersion = .none) {
        self.asOf = asOf
    }

    /// The documents that were read by name.
    var paths: some Collection<DocumentPath> { documents.keys }

    /// Whether queries must be run again to know that all is still so.
    var hasQueries: Bool { !queries.isEmpty || !aggregates.isEmpty }

    /// Notes a document that was read; nil for one that does not exist.
    mutating func add(_ path: DocumentPath, _ version: SnapshotVersion?) {
        documents[path] = version ?? SnapshotVersion.none
    }

    /// Notes what a query found, in order.
    mutating func add(_ query: Query, _ matches: [Match]) {
        queries.append(QueryRead(query: query, matches: matches))
    }

    /// Notes the first documents that a query found, in order, where no more were read.
    mutating func add(beginningOf query: Query, _ matches: [Match]) {
        guard !matches.isEmpty else { return }
        if case .last = query.limit {
            // Where it begins depends on what was not read.
            for match in matches { add(match.path, match.version) }
            return
        }
        var beginning = query
        beginning.limit = .first(matches.count)
        add(beginning, matches)
    }

    /// Notes figures over what a query matches.
    mutating func add(_ query: Query, _ values: [Aggregate: Value]) {
        aggregates.append(AggregateRead(query: query, values: values))
    }

    /// Adds what was read of a later commit, or of the same.
    mutating func formUnion(_ other: ReadSet, at version: SnapshotVersion) {
        self.version = max(self.version, version)
        documents.merge(other.documents) { earlier, _ in earlier }
        queries += other.queries
        aggregates += other.aggregates
    }

    /// Throws `aborted` unless the documents that were read by name are as they were.
    ///
    /// - Parameter current: the version of a document; nil for one that does not exist.
    func verify(_ current: (DocumentPath) -> SnapshotVersion?) throws(LarderError) {
        for (path, version) in documents where (current(path) ?? .none) != version {
            throw Self.conflict("the document '\(path)'")
        }
    }

    /// Throws `aborted` unless all that was read is as it was.
    func verify<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, _ runner: QueryRunner
    ) throws(LarderError) {
        for (path, version) in documents {
            let current = try transaction.withDocument(at: path) { entry throws(LarderError) in
                entry.state == .found ? entry.version : .none
            }
            guard (current ?? .none) == version else { throw Self.conflict("'\(path)'") }
        }
        try verifyQueries(in: transaction, runner)
    }

    /// Throws `aborted` unless the queries find what they found.
    func verifyQueries<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, _ runner: QueryRunner
    ) throws(LarderError) {
        for read in queries {
            let found = try runner.run(read.query, in: transaction).documents
            guard found.map({ Match(path: $0.path, version: $0.version) }) == read.matches else {
                throw Self.conflict("what a query finds")
            }
        }
        for read in aggregates {
            let values = try runner.aggregate(
                Array(read.values.keys), over: read.query, in: transaction
            ).values
            guard values == read.values else { throw Self.conflict("what is aggregated") }
        }
    }

    private static func conflict(_ what: String) -> LarderError {
        LarderError(.aborted, "\(what) has changed since the transaction read it")
    }
}
