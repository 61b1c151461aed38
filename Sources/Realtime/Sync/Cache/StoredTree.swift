package import LarderRealtimeModel
import LarderRealtimeStore

/// The stored part of a tree: the cache, and what of it is complete.
///
/// Changes are recorded in the cache; the owner stores them.
package struct StoredTree {
    package private(set) var cache: any TreeCache
    /// The queries that the cache holds data for.
    package private(set) var tracked: TrackedQueries
    /// True if this client stores the server's data; otherwise another client of the store does.
    package private(set) var isKept: Bool
    /// False if listeners and holders do not make queries tracked: everything stays complete.
    var tracksUses = true
    /// The queries that the client which keeps the cache shall ask for, with their numbers.
    private var listens: [QuerySpec: Int64] = [:]
    private var lastListen: Int64 = 0
    /// The rules that the cache obeys, as far as this client keeps it.
    private var rules = TreeCacheRules()
    /// True if data was stored that no query keeps and no rule wants to be kept.
    private var hasUnkeptData = false

    package init(_ cache: any TreeCache, tracked: TrackedQueries, isKept: Bool = true) {
        self.cache = cache
        self.tracked = tracked
        self.isKept = isKept
        if isKept { noteUses() }
    }

    /// Records a change of the cache.
    package mutating func record(_ change: CacheChange) {
        cache.record(change)
    }

    private mutating func saveQueries() {
        for query in tracked.takeChanged() { record(.saveQuery(query)) }
    }

    private mutating func noteUses() {
        for query in tracked.takeChanged() { record(.noteUse(query)) }
    }
}

// MARK: - Reading

extension StoredTree {
    /// The stored content of a location, whether it is complete or not.
    func node(at path: TreePath) throws(LarderError) -> Node {
        try cache.node(at: path)
    }

    /// The stored content of a location; nil unless all of it is stored.
    ///
    /// Always nil where another client of the store keeps the cache, and may evict from it.
    func completeNode(at path: TreePath) throws(LarderError) -> Node? {
        guard isKept, try isWhole(path) else { return nil }
        return try cache.node(at: path)
    }

    /// The known part of the server's data for a query: all of it, or those children of which all
    /// is known.
    ///
    /// - Parameter spare: how many children to have beyond the limit of the query, as far as the
    ///   store has the whole location.
    package func serverNode(
        for query: QuerySpec, spare: Int = 0
    ) throws(LarderError) -> CachedNode {
        if !query.loadsAllData, let window = tracked[query], window.isComplete {
            let keys = try cache.trackedKeys(of: [window.id])
            let node = try cache.children(keys, at: query.path)
            if !tracked.isLocationComplete(query.path) {
                return CachedNode(node, isComplete: true, isFiltered: true)
            }
            if spare == 0 {
                return storedWindow(node, of: query, count: query.parameters.limit?.count)
            }
        }
        if try isWhole(query.path) {
            return query.loadsAllData
                ? CachedNode(try cache.node(at: query.path), isComplete: true)
                : try storedWindow(of: query, spare: spare)
        }
        let windows = tracked.completeWindows(at: query.path)
        var keys = tracked.completeChildren(of: query.path)
        if !windows.isEmpty { keys.formUnion(try cache.trackedKeys(of: windows)) }
        if keys.isEmpty { return .unknown }
        return CachedNode(try cache.children(keys, at: query.path), isComplete: false)
    }
}

extension StoredTree {
    /// True if all of a location is stored: on its own, or with a child that a window has.
    private func isWhole(_ path: TreePath) throws(LarderError) -> Bool {
        if tracked.isLocationComplete(path) { return true }
        for (depth, key) in path.enumerated() {
            let windows = tracked.completeWindows(at: path.prefix(depth))
            if !windows.isEmpty, try cache.trackedKeys(of: windows).contains(key) { return true }
        }
        return false
    }

    /// A filtered query's part of a location that is stored as a whole.
    private func storedWindow(
        of query: QuerySpec, spare: Int
    ) throws(LarderError) -> CachedNode {
        let count = query.parameters.limit.map { $0.count + spare }
        let parameters = count.map { query.parameters.resized(to: $0) } ?? query.parameters
        let node = try cache.window(of: QuerySpec(query.path, parameters))
        return storedWindow(node, of: query, count: count)
    }

    private func storedWindow(_ node: Node, of query: QuerySpec, count: Int?) -> CachedNode {
        let edge = ViewFilter(parameters: query.parameters).edge(of: node)
        let isFull = count.map { node.childCount >= $0 } ?? false
        var window = CachedNode(
            node, isComplete: true, isFiltered: true, edge: isFull ? edge : nil)
        window.isExhaustive = !isFull
        return window
    }
}

// MARK: - Queries

extension StoredTree {
    mutating func activate(_ query: QuerySpec, now: Int64) {
        guard tracksUses else { return }
        guard isKept else { return beginListen(query.normalized) }
        tracked.activate(query, now: now)
        noteUses()
    }

    /// Notes that the server has confirmed a query's data.
    mutating func confirm(_ query: QuerySpec, now: Int64) {
        guard isKept else { return }
        tracked.confirm(query, now: now)
        saveQueries()
    }

    mutating func deactivate(_ query: QuerySpec, now: Int64) {
        guard tracksUses else { return }
        guard isKept else { return endListen(query.normalized) }
        tracked.deactivate(query, now: now)
        noteUses()
    }

    /// Notes that all data of a location is cached.
    mutating func completeLocation(_ path: TreePath) {
        guard isKept else { return }
        tracked.completeLocation(path)
        saveQueries()
    }

    /// Notes that all data of a location is cached although nothing asked for it.
    mutating func ensureComplete(_ path: TreePath, now: Int64) {
        tracked.ensureComplete(path, now: now)
        saveQueries()
    }

    /// Forgets a query whose data was evicted.
    package mutating func evicted(_ query: QuerySpec) {
        tracked.remove(query)
    }

    /// Stores how a window has changed.
    ///
    /// - Parameter keys: the keys of the window now.
    mutating func windowChanged(
        of query: QuerySpec, _ changes: WindowKeyChanges, keys: () -> Set<ChildKey>
    ) {
        guard isKept, let window = tracked[query] else { return }
        if changes.isReplaced {
            tracked.complete(query)
            saveQueries()
            record(.setKeys(window.id, keys()))
        } else if window.isComplete, !changes.isEmpty {
            record(.updateKeys(window.id, added: changes.added, removed: changes.removed))
        }
    }
}

// MARK: - Several clients

extension StoredTree {
    private mutating func beginListen(_ query: QuerySpec) {
        guard listens[query] == nil else { return }
        lastListen += 1
        listens[query] = lastListen
        record(.beginListen(lastListen, query))
    }

    private mutating func endListen(_ query: QuerySpec) {
        if let number = listens.removeValue(forKey: query) { record(.endListen(number)) }
    }

    /// The cache that another client keeps has other queries now.
    package mutating func read(_ tracked: TrackedQueries) {
        self.tracked = tracked
    }

    /// This client stores the server's data from now on.
    mutating func keep(_ tracked: TrackedQueries) {
        isKept = true
        for query in listens.keys { endListen(query) }
        self.tracked = tracked
        self.tracked.obey(rules)
        noteUses()
    }
}

// MARK: - Data

extension StoredTree {
    /// Stores what the server said of a location.
    mutating func serverChanged(_ path: TreePath, _ values: [PathValue], isOverwrite: Bool) {
        guard isKept else { return }
        if isOverwrite {
            for value in values { record(.overwrite(path.appending(value.path), value.node)) }
        } else {
            record(.merge(path, values))
        }
        for value in values {
            let path = path.appending(value.path)
            tracked.completeLocation(path)
            tracked.changeLocation(path)
        }
        saveQueries()
    }

    /// Stores what the server said of a query's window.
    ///
    /// A child that left the window may still exist; its stored node stays if another query has
    /// it.
    ///
    /// - Parameters:
    ///   - values: the nodes that were sent, below the query's location.
    ///   - left: children that are no longer in the window.
    mutating func windowChanged(
        of query: QuerySpec, _ values: [PathValue], left: Set<ChildKey>
    ) {
        guard isKept else { return }
        var left = left
        var sent: [PathValue] = []
        for value in values {
            if value.path.count == 1, value.node.isEmpty, let key = value.path.first {
                left.insert(key)
            } else {
                sent.append(value)
            }
        }
        let dropped = left.subtracting(keysOfOthers(than: query, among: left)).sorted()
        sent += dropped.map { PathValue(TreePath([$0]), .empty) }
        if !sent.isEmpty { record(.merge(query.path, sent)) }
        for value in sent where !value.node.isEmpty {
            tracked.completeLocation(query.path.appending(value.path))
        }
        saveQueries()
    }

    /// Stores the window of a query that no view has, as the server sent it.
    mutating func received(_ window: Node, of query: QuerySpec) {
        guard isKept, let id = tracked[query]?.id else { return }
        let keys = Set(window.children.map(\.key))
        let left = ((try? cache.trackedKeys(of: [id])) ?? []).subtracting(keys)
        windowChanged(
            of: query, window.children.map { PathValue(TreePath([$0.key]), $0.node) }, left: left)
        tracked.complete(query)
        saveQueries()
        record(.setKeys(id, keys))
    }

    private func keysOfOthers(
        than query: QuerySpec, among keys: Set<ChildKey>
    ) -> Set<ChildKey> {
        if keys.isEmpty || tracked.isLocationComplete(query.path) { return keys }
        let others = tracked.completeWindows(at: query.path, except: query)
        let alone = tracked.completeChildren(of: query.path)
        // Unreadable rows may be in use.
        let shared = others.isEmpty ? [] : (try? cache.trackedKeys(of: others)) ?? keys
        return keys.intersection(shared.union(alone))
    }

    /// Stores a node that a write has replaced.
    ///
    /// - Parameter isExact: false if the server has computed some of the values: what is stored is
    ///   a guess, and does not count as complete.
    mutating func keep(_ value: PathValue, isExact: Bool, now: Int64) {
        record(.overwrite(value.path, value.node))
        if isExact { tracked.ensureComplete(value.path, now: now) }
        if !isExact, rules[value.path]?.isNeverCached == true { hasUnkeptData = true }
        tracked.changeLocation(value.path)
        saveQueries()
    }
}

// MARK: - Cache rules

extension StoredTree {
    /// Obeys cache rules from now on.
    package mutating func obey(_ rules: TreeCacheRules) {
        self.rules = rules
        guard isKept else { return }
        tracked.obey(rules)
        saveQueries()
    }

    /// Removes queries that rules do not keep; what no other query keeps of their data is deleted
    /// by the next sweep.
    ///
    /// Queries below a location that was complete keep their data, and are complete on their own.
    mutating func forget(_ queries: [TrackedQuery]) {
        for query in queries where query.isComplete && query.query.isDefault {
            tracked.completeLocation(query.query.path)
        }
        saveQueries()
        for query in queries {
            tracked.remove(query.query)
            record(.removeQuery(query.id))
        }
    }

    /// Takes the queries that were released and have a rule that evicts, and whether there is data
    /// without a query that is to go.
    mutating func takeReleased() -> (queries: [TrackedQuery], hasUnkeptData: Bool) {
        defer { hasUnkeptData = false }
        return (tracked.takeReleased(), hasUnkeptData)
    }
}
