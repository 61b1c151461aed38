package import LarderRealtimeModel
package import LarderRealtimeStore

/// The queries whose data a cache holds, and what of it is complete.
///
/// ```
///            listen, get                   last listener removed, restart
///   (none) -------------> active ----------------------------------------> inactive
///                            ^                                                |
///                            +------------------- listen, get ----------------+
///   either state: incomplete -> complete, once the server has sent all of it
/// ```
///
/// The eviction of an inactive query removes it. A default query that is complete makes every
/// query at its location and below complete; a filtered query of its own completeness has its
/// window's keys in the cache, until all data of its location is cached and changes.
package struct TrackedQueries: Sendable {
    private struct Location: Sendable {
        var queries: [QueryParameters: TrackedQuery] = [:]
        /// The complete filtered queries.
        var windows: Set<QueryParameters> = []
    }

    private var locations = PathTree<Location>()
    private var lastID: Int64 = 0
    /// The client that gives the numbers of queries; nil for the only client of its store.
    private let client: ClientNumber?
    /// The count of tracked queries.
    package private(set) var count = 0
    /// Queries that were added or have changed since they were last taken.
    private var changed: Set<QuerySpec> = []
    /// The rules that the cache obeys.
    private(set) var rules = TreeCacheRules()
    /// Queries of rules that evict, which were in use or are new, and are not in use now.
    private var released: Set<QuerySpec> = []

    package init() {
        client = nil
    }

    /// The queries that a cache holds after a restart: none is active.
    ///
    /// - Parameters:
    ///   - now: the last use of those that were active.
    ///   - client: the number of the client among those that share its store.
    package init(
        restoring stored: some Sequence<TrackedQuery>, now: Int64, client: ClientNumber? = nil
    ) {
        self.client = client
        for var query in stored {
            lastID = max(lastID, query.id.rawValue)
            if query.isActive {
                query.isActive = false
                query.lastUse = now
                changed.insert(query.query)
            }
            put(query)
        }
    }

    /// The queries of a cache that another client keeps, as it has them.
    package init(reading stored: some Sequence<TrackedQuery>, client: ClientNumber) {
        self.client = client
        for query in stored {
            lastID = max(lastID, query.id.rawValue)
            put(query)
        }
    }

    /// The tracked query of a query; nil if it is not tracked.
    package subscript(query: QuerySpec) -> TrackedQuery? {
        locations[query.path]?.queries[query.parameters.normalized]
    }

    /// All tracked queries, in no order.
    package var all: [TrackedQuery] {
        var all: [TrackedQuery] = []
        locations.forEach { _, here in all += here.queries.values }
        return all
    }

    /// Queries that were added or have changed since the last call.
    package mutating func takeChanged() -> [TrackedQuery] {
        defer { changed = [] }
        return changed.compactMap { self[$0] }.sorted { $0.id < $1.id }
    }
}

// MARK: - Completeness

extension TrackedQueries {
    /// True if all data of a query is cached.
    package func isComplete(_ query: QuerySpec) -> Bool {
        self[query]?.isComplete == true || isLocationComplete(query.path)
    }

    /// True if the whole content of a location is cached.
    package func isLocationComplete(_ path: TreePath) -> Bool {
        covers(path) { $0.isComplete }
    }

    /// True if a listener, `keepSynced` or a get uses the whole content of a location.
    package func isLocationActive(_ path: TreePath) -> Bool {
        covers(path) { $0.isActive }
    }

    private func covers(_ path: TreePath, _ accepts: (TrackedQuery) -> Bool) -> Bool {
        var isCovered = false
        locations.visit(along: path) { _, here in
            isCovered = here.queries[.default].map(accepts) ?? false
            return !isCovered
        }
        return isCovered
    }

    /// Filtered queries at a location of which all data is cached, without one of them.
    package func completeWindows(
        at path: TreePath, except excluded: QuerySpec? = nil
    ) -> [TrackedQueryID] {
        guard let here = locations[path] else { return [] }
        return here.windows.compactMap { here.queries[$0] }
            .filter { $0.query != excluded }.map(\.id)
    }

    /// Children of a location whose whole content is cached on its own.
    package func completeChildren(of path: TreePath) -> Set<ChildKey> {
        guard let tree = locations.subtree(at: path) else { return [] }
        return Set(
            tree.keys.filter { tree.child($0)?.value?.queries[.default]?.isComplete == true })
    }
}

// MARK: - Changes

extension TrackedQueries {
    /// Notes that a query is used from now on.
    package mutating func activate(_ query: QuerySpec, now: Int64) {
        update(query, now: now) {
            $0.isActive = true
            $0.lastUse = now
        }
    }

    /// Notes that the server has confirmed a query's data.
    package mutating func confirm(_ query: QuerySpec, now: Int64) {
        guard let tracked = self[query], tracked.confirmed ?? .min < now else { return }
        update(query) { $0.confirmed = now }
    }

    /// When the server has last confirmed a query's data, on its own or with all of a location at
    /// or above; nil if it has not.
    package func confirmation(of query: QuerySpec) -> Int64? {
        var latest = self[query].flatMap { $0.isComplete ? $0.confirmed : nil }
        locations.visit(along: query.path) { _, here in
            if let plain = here.queries[.default], plain.isComplete, let time = plain.confirmed {
                latest = max(latest ?? time, time)
            }
            return true
        }
        return latest
    }

    /// Notes that a query is no longer used.
    package mutating func deactivate(_ query: QuerySpec, now: Int64) {
        guard self[query]?.isActive == true else { return }
        update(query, now: now) {
            $0.isActive = false
            $0.lastUse = now
        }
    }

    /// Notes that all data of a filtered query is cached, and which children that is.
    package mutating func complete(_ query: QuerySpec) {
        if self[query]?.isComplete == false { update(query) { $0.isComplete = true } }
    }

    /// Notes that the whole content of a location is cached: the default queries there and below
    /// are complete on their own, and filtered ones while that lasts.
    package mutating func completeLocation(_ path: TreePath) {
        var incomplete: [QuerySpec] = []
        locations.subtree(at: path)?.forEach { _, here in
            if let query = here.queries[.default], !query.isComplete {
                incomplete.append(query.query)
            }
        }
        for query in incomplete { update(query) { $0.isComplete = true } }
        completePinned(below: path)
    }

    /// Notes that the content of a location has changed: the windows of complete locations there
    /// are no longer known by their keys, unless they have a listen of their own.
    package mutating func changeLocation(_ path: TreePath) {
        var outdated: [QuerySpec] = []
        func add(_ path: TreePath, _ here: Location) {
            guard !here.windows.isEmpty, isLocationComplete(path) else { return }
            let isCovered = isLocationActive(path)
            for parameters in here.windows {
                if isCovered || here.queries[parameters]?.isActive == false {
                    outdated.append(QuerySpec(path, parameters))
                }
            }
        }
        locations.visit(along: path) { depth, here in
            if depth < path.count { add(path.prefix(depth), here) }
            return true
        }
        locations.subtree(at: path)?.forEach { below, here in add(path.appending(below), here) }
        for query in outdated { update(query) { $0.isComplete = false } }
    }

    /// Notes that the whole content of a location is cached although no listener asked for it.
    package mutating func ensureComplete(_ path: TreePath, now: Int64) {
        guard !isLocationComplete(path) else { return }
        update(QuerySpec(path), now: now) { $0.isComplete = true }
        completePinned(below: path)
    }

    /// Forgets a query that was evicted.
    package mutating func remove(_ query: QuerySpec) {
        changed.remove(query.normalized)
        let old = locations.update(at: query.path) { tree in
            tree.updateValue { here in
                defer { if here?.queries.isEmpty == true { here = nil } }
                here?.windows.remove(query.parameters.normalized)
                return here?.queries.removeValue(forKey: query.parameters.normalized)
            }
        }
        if old != nil { count -= 1 }
    }

    private mutating func update(
        _ query: QuerySpec, now: Int64 = 0, _ change: (inout TrackedQuery) -> Void
    ) {
        let query = query.normalized
        var tracked = self[query] ?? TrackedQuery(newID(), query, lastUse: now)
        change(&tracked)
        if !rules.isEmpty { obey(rules[query.path], &tracked) }
        changed.insert(query)
        put(tracked)
    }

    private mutating func obey(_ rule: TreeCacheRule?, _ tracked: inout TrackedQuery) {
        tracked.isPinned = rule?.isPinned == true
        if !tracked.isActive, rule?.evicts == true { released.insert(tracked.query) }
    }

    private mutating func newID() -> TrackedQueryID {
        lastID = client?.number(after: lastID) ?? lastID + 1
        return TrackedQueryID(lastID)
    }

    private mutating func put(_ tracked: TrackedQuery) {
        let parameters = tracked.query.parameters
        let old = locations.update(at: tracked.query.path) { tree in
            tree.updateValue { here in
                if here == nil { here = Location() }
                if tracked.isComplete, !tracked.query.isDefault {
                    here?.windows.insert(parameters)
                } else {
                    here?.windows.remove(parameters)
                }
                return here?.queries.updateValue(tracked, forKey: parameters)
            }
        }
        if old == nil { count += 1 }
    }
}

// MARK: - Cache rules

extension TrackedQueries {
    /// Obeys rules from now on.
    package mutating func obey(_ rules: TreeCacheRules) {
        self.rules = rules
        released = []
        for var query in all {
            let wasPinned = query.isPinned
            obey(rules[query.query.path], &query)
            if query.isPinned != wasPinned {
                changed.insert(query.query)
                put(query)
            }
        }
        completePinned(below: .root)
    }

    /// Notes that pinned locations are complete on their own where one above them is, which can be
    /// evicted.
    private mutating func completePinned(below path: TreePath) {
        if rules.isEmpty { return }
        for path in rules.pinnedPaths(below: path) {
            var covering: TrackedQuery?
            locations.visit(along: path) { _, here in
                if let plain = here.queries[.default], plain.isComplete { covering = plain }
                return covering == nil
            }
            guard let covering, self[QuerySpec(path)]?.isComplete != true else { continue }
            update(QuerySpec(path), now: covering.lastUse) {
                $0.isComplete = true
                $0.confirmed = [$0.confirmed, covering.confirmed].compactMap(\.self).max()
            }
        }
    }

    /// Takes the queries that were released since the last call, are not in use now, and have a
    /// rule that evicts.
    package mutating func takeReleased() -> [TrackedQuery] {
        defer { released = [] }
        return released.compactMap { self[$0] }.filter { !$0.isActive }
            .sorted { $0.id < $1.id }
    }

    /// The queries that are not in use and that rules no longer keep at a time, in milliseconds
    /// since the Unix epoch: those that are too old or never cached.
    package func outdated(at now: Int64) -> [TrackedQuery] {
        all.filter { query in
            guard !query.isActive, let rule = rules[query.query.path] else { return false }
            return rule.isNeverCached
                || rule.maximumAge.map { now - query.lastUse > $0.wholeMilliseconds } == true
        }.sorted { $0.id < $1.id }
    }

    /// The queries of a rule that are not in use, least recently used first.
    package func unused(of rule: TreeCacheRule) -> [TrackedQuery] {
        all.filter { !$0.isActive && rules[$0.query.path] == rule }
            .sorted { ($0.lastUse, $0.id) < ($1.lastUse, $1.id) }
    }
}
