import Foundation
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// A query watched by streams, evaluated once for all of them.
///
/// Without a limit it has no state: the previous and current document determine whether it joins or
/// leaves.
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
    /// The cached results of the last commit.
    private var lastResult: (version: SnapshotVersion, paths: [DocumentPath])?

    /// Starts watching a query on the current state of the store.
    init(
        _ id: ViewID, _ target: QueryTarget, _ store: Store, _ runner: QueryRunner
    ) throws(LarderError) {
        self.id = id
        self.target = target
        query = target.query
        matcher = try QueryMatcher(query)
        if target.limit != nil { window = try Self.window(query, store, runner) }
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
        lastResult = (version, paths)
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
        lastResult = nil
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

    private static func window(_ query: Query, _ store: Store, _ runner: QueryRunner)
        throws(LarderError) -> LimitWindow
    {
        try store.read { (transaction) throws(LarderError) in
            LimitWindow(query, try runner.run(query, in: transaction).documents)
        }
    }
}

/// The incrementally maintained results of a query with a limit.
struct LimitWindow {
    private let limit: Int
    private(set) var documents: DocumentSet

    init(_ query: Query, _ documents: [Document]) {
        limit = query.limit?.count ?? .max
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
            if matches(document) {
                documents.insert(document)
            } else {
                documents.remove(document.path)
            }
        }
        if let bound {
            guard documents.count >= limit else { return false }
            let last = documents[documents.index(documents.startIndex, offsetBy: limit - 1)]
            guard documents.comparator.compare(last, bound) != .orderedDescending else {
                return false
            }
        }
        while documents.count > limit, let last = documents.last { documents.remove(last.path) }
        return true
    }
}

/// The effect of commits on one document in a watched query.
struct WatchEffect {
    let document: Document
    let isMember: Bool
    /// Whether the document itself has changed; otherwise a limit moved it in or out.
    let isChanged: Bool
}
