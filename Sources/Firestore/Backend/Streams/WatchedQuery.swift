import Foundation
import LarderCore
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// A query watched by streams, evaluated once for all of them.
///
/// Without a limit it has no state but a cache: the previous and current document determine whether
/// one joins or leaves. What it holds is charged to its earliest subscriber.
final class WatchedQuery {
    /// A target of a stream that watches this query.
    struct Subscriber: Hashable {
        let stream: StreamID
        let targetID: Int32
    }

    /// The ID of the watched query.
    let id: ViewID
    let target: QueryTarget
    /// The subscribers, earliest first.
    private(set) var subscribers: [Subscriber] = []

    private let query: Query
    private let matcher: QueryMatcher
    private var window: LimitWindow?
    /// The account of the earliest subscriber, and below it that of the query.
    private var payer: MemoryAccount?
    private var memory: MemoryAccount?
    /// The cached results of the last commit, if they are few: reading many names takes less time
    /// than sending their documents.
    private var lastResult: (version: SnapshotVersion, paths: [DocumentPath])?

    /// The maximum number of cached results.
    private static let maxCached = 4_000
    /// The size of a path in memory, with a text of usual length.
    private static let pathBytes = 128

    /// Starts watching a query on the current state of the store.
    ///
    /// - Parameter payer: the account of the first subscriber; nil for no limit.
    /// - Throws: as a query; `resourceExhausted` if the documents of a limit take up too much.
    init(
        _ id: ViewID, _ target: QueryTarget, _ store: Store, _ runner: QueryRunner,
        _ payer: MemoryAccount? = nil
    ) throws(LarderError) {
        self.id = id
        self.target = target
        query = target.query
        matcher = try QueryMatcher(query)
        if target.limit != nil {
            let running = payer?.open()
            defer { running?.close() }
            window = try Self.window(query, store, runner, running?.queryCharge)
        }
        charge(payer)
    }

    /// Charges an account for what the query holds, in place of the former one.
    func charge(_ payer: MemoryAccount?) {
        guard payer !== self.payer else { return }
        memory?.close()
        (self.payer, memory) = (payer, payer?.open())
        settleMemory()
    }

    private func settleMemory() {
        guard let memory else { return }
        let bytes = window?.heldBytes ?? (lastResult?.paths.count ?? 0) * Self.pathBytes
        memory.change(by: bytes - memory.heldBytes)
    }

    func add(_ subscriber: Subscriber) {
        subscribers.append(subscriber)
    }

    func remove(_ subscriber: Subscriber) {
        subscribers.removeAll { $0 == subscriber }
    }

    /// Whether a stored document is in the results.
    func contains(_ document: Document) -> Bool {
        window?.documents.contains(document.path) ?? matcher.matches(document)
    }

    /// The paths of the results.
    ///
    /// - Parameter version: the last commit of the store.
    func paths(_ version: SnapshotVersion, _ store: Store, _ runner: QueryRunner)
        throws(LarderError) -> [DocumentPath]
    {
        if let window { return window.documents.map(\.path) }
        if let lastResult, lastResult.version == version { return lastResult.paths }
        let paths = try store.read { (transaction) throws(LarderError) -> [DocumentPath] in
            var paths: [DocumentPath] = []
            try runner.forEachMatch(of: query, in: transaction) { entry throws(LarderError) in
                paths.append(entry.path)
            }
            return paths
        }
        if paths.count <= Self.maxCached {
            lastResult = (version, paths)
            settleMemory()
        }
        return paths
    }

    func count(_ store: Store, _ runner: QueryRunner) throws(LarderError) -> Int {
        if let window { return window.documents.count }
        return try store.read { (transaction) throws(LarderError) in
            let result = try runner.aggregate([.count], over: query, in: transaction)
            guard case .integer(let count)? = result.values[.count] else { return 0 }
            return Int(count)
        }
    }

    /// The effects of commits, already stored, on the query.
    ///
    /// - Parameter changes: the changes of possibly affected documents, in order.
    func effects(
        of changes: [CommittedChange], _ store: Store, _ runner: QueryRunner
    ) throws(LarderError) -> [WatchEffect] {
        if lastResult != nil {
            lastResult = nil
            settleMemory()
        }
        guard var window else {
            return changes.compactMap { change in
                let isMember = matcher.matches(change.after)
                guard isMember || matches(change.before) else { return nil }
                return WatchEffect(document: change.after, isMember: isMember, isChanged: true)
            }
        }
        let before = window.documents
        var latest: [DocumentPath: Document] = [:]
        for change in changes { latest[change.path] = change.after }
        let changed = latest.values.sorted { $0.path < $1.path }
        if !window.apply(changed, matches: matcher.matches) {
            window = try Self.window(query, store, runner)
        }
        self.window = window
        settleMemory()
        var effects: [WatchEffect] = []
        for document in changed {
            let isMember = window.documents.contains(document.path)
            // A document that came and went within these commits is known only to the client that
            // wrote it.
            let wasMember = changes.contains { $0.path == document.path && matches($0.before) }
            guard isMember || wasMember else { continue }
            effects.append(WatchEffect(document: document, isMember: isMember, isChanged: true))
        }
        let after = window.documents
        // Unchanged documents keep their order: equal counts imply equal documents.
        let unchanged = [before, after].map { documents in
            documents.count - changed.count { documents.contains($0.path) }
        }
        guard unchanged[0] != unchanged[1] else { return effects }
        for (old, new, isMember) in [(before, after, false), (after, before, true)] {
            for document in old
            where latest[document.path] == nil && !new.contains(document.path) {
                effects.append(
                    WatchEffect(document: document, isMember: isMember, isChanged: false))
            }
        }
        return effects
    }

    private func matches(_ document: Document?) -> Bool {
        document.map(matcher.matches) ?? false
    }

    private static func window(
        _ query: Query, _ store: Store, _ runner: QueryRunner, _ charge: QueryCharge? = nil
    ) throws(LarderError) -> LimitWindow {
        try store.read { (transaction) throws(LarderError) in
            LimitWindow(query, try runner.run(query, in: transaction, charge: charge).documents)
        }
    }
}

/// The incrementally maintained results of a query with a limit.
struct LimitWindow {
    private let limit: Int
    private(set) var documents: DocumentSet
    /// The approximate size in memory.
    private(set) var heldBytes: Int

    init(_ query: Query, _ documents: [Document]) {
        limit = query.limit?.count ?? .max
        heldBytes = documents.reduce(0) { $0 + $1.heldBytes }
        self.documents = DocumentSet(
            documents, comparator: DocumentComparator(orders: query.orders))
    }

    /// Applies changed documents; returns false if documents beyond the limit may have moved up, so
    /// that the query must be run again.
    ///
    /// - Parameter matches: whether a document matches the query, ignoring the limit.
    mutating func apply(_ changed: [Document], matches: (Document) -> Bool) -> Bool {
        // Documents outside the window sort after its last one, as long as it is unchanged.
        let bound = documents.count < limit ? nil : documents.last
        for document in changed {
            if matches(document) { insert(document) } else { remove(document.path) }
        }
        if let bound {
            guard documents.count >= limit else { return false }
            let last = documents[documents.index(documents.startIndex, offsetBy: limit - 1)]
            guard documents.comparator.compare(last, bound) != .orderedDescending else {
                return false
            }
        }
        while documents.count > limit, let last = documents.last { remove(last.path) }
        return true
    }

    private mutating func insert(_ document: Document) {
        heldBytes += document.heldBytes - (documents.insert(document)?.heldBytes ?? 0)
    }

    private mutating func remove(_ path: DocumentPath) {
        heldBytes -= documents.remove(path)?.heldBytes ?? 0
    }
}

/// The effect of commits on one document in a watched query.
struct WatchEffect {
    let document: Document
    let isMember: Bool
    /// Whether the document itself has changed; otherwise a limit moved it in or out.
    let isChanged: Bool
}
