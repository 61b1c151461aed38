/// A rule for the queries at a location and below it: which of them are evicted, and when, and
/// whether the location is the server's at all.
package struct TreeCacheRule: Hashable, Sendable {
    /// The location.
    package let path: TreePath
    /// True if queries are not evicted to keep the cache within its size.
    package let isPinned: Bool
    /// True if queries are evicted as soon as nothing uses them.
    package let isNeverCached: Bool
    /// True if the location is not the server's: it is in the store alone.
    package let isLocalOnly: Bool
    /// The size of the cached data in bytes above which queries are evicted; nil for none.
    package let maximumBytes: Int64?
    /// The time since its last use after which a query is evicted; nil for none.
    package let maximumAge: Duration?

    package init(
        _ path: TreePath, isPinned: Bool = false, isNeverCached: Bool = false,
        isLocalOnly: Bool = false, maximumBytes: Int64? = nil, maximumAge: Duration? = nil
    ) {
        self.path = path
        self.isPinned = isPinned
        self.isNeverCached = isNeverCached
        self.isLocalOnly = isLocalOnly
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }

    /// True if the rule evicts queries.
    package var evicts: Bool { isNeverCached || maximumBytes != nil || maximumAge != nil }

    /// The longest maximum age.
    private static let longestAge = Duration.seconds(36_500 * 86_400)

    fileprivate var contradiction: String? {
        if let maximumBytes, maximumBytes < 1 {
            return "has a maximum size of \(maximumBytes) bytes; it must be at least 1"
        }
        if let maximumAge, maximumAge < .seconds(1) {
            return "has a maximum age of \(maximumAge); it must be at least 1 second"
        }
        if let maximumAge, maximumAge > Self.longestAge {
            return "has a maximum age of \(maximumAge); it must be at most 36500 days"
        }
        if isPinned, isNeverCached { return "is both pinned and never cached" }
        let hasLimit = maximumBytes != nil || maximumAge != nil
        if isLocalOnly, isNeverCached { return "is both local only and never cached" }
        if isLocalOnly, hasLimit { return "is local only and has a limit" }
        if isPinned, hasLimit { return "is pinned and has a limit" }
        if isNeverCached, hasLimit { return "is never cached and has a limit" }
        return nil
    }
}

/// The cache rules of a tree: the deepest one at or above a location applies to it.
package struct TreeCacheRules: Sendable {
    /// The rules in the order in which they were set.
    package let list: [TreeCacheRule]
    /// True if a rule evicts queries.
    package let evicts: Bool
    /// The locations that are local only, none of which lies below another.
    package private(set) var localOnlyPaths: [TreePath]
    /// True for the rules of a local database, all of which is local only.
    private var isOfLocalDatabase = false
    /// The time between checks for queries that are too old; nil if no rule has an age.
    package let checkInterval: Duration?
    private let byPath: PathTree<TreeCacheRule>

    /// The maximum number of rules.
    package static let maxCount = 256

    /// No rules.
    package init() {
        self.init(unchecked: [])
    }

    /// - Throws: `invalidArgument`, saying which rule and what is wrong with it.
    package init(_ list: [TreeCacheRule]) throws(LarderError) {
        guard list.count <= Self.maxCount else {
            throw .invalidValue(
                "there are \(list.count) cache rules; at most \(Self.maxCount) are allowed")
        }
        var paths: Set<TreePath> = []
        for rule in list {
            try rule.path.validate()
            if TreePath.info.isAncestorOrEqual(of: rule.path) {
                throw .invalidPath("there is a cache rule for \(rule.path), which is never cached")
            }
            if let contradiction = rule.contradiction {
                throw .invalidValue("the cache rule for \(rule.path) \(contradiction)")
            }
            guard paths.insert(rule.path).inserted else {
                throw .invalidValue(
                    "there are two cache rules for \(rule.path); combine them in one")
            }
        }
        self.init(unchecked: list)
        for rule in list {
            guard let above = localOnlyPaths.first(where: { $0.isAncestor(of: rule.path) }) else {
                continue
            }
            throw .invalidValue(
                "the cache rule for \(rule.path) lies below \(above), which is local only; "
                    + "there are no rules below such a location")
        }
    }

    private init(unchecked list: [TreeCacheRule]) {
        self.list = list
        evicts = list.contains { $0.evicts }
        localOnlyPaths = list.filter(\.isLocalOnly).map(\.path)
        let shortestAge = list.compactMap(\.maximumAge).min()
        checkInterval = shortestAge.map { min(max($0 / 16, .seconds(1)), .seconds(3_600)) }
        var byPath = PathTree<TreeCacheRule>()
        for rule in list { byPath[rule.path] = rule }
        self.byPath = byPath
    }

    /// The rules as those of a local database: all of it is local only, whatever they say.
    package var ofLocalDatabase: TreeCacheRules {
        var rules = self
        rules.isOfLocalDatabase = true
        rules.localOnlyPaths = [.root]
        return rules
    }

    /// True without any rule.
    package var isEmpty: Bool { list.isEmpty }

    /// The rule that applies to a location; nil if none does.
    package subscript(path: TreePath) -> TreeCacheRule? {
        var deepest: TreeCacheRule?
        byPath.visit(along: path) { _, rule in
            deepest = rule
            return true
        }
        return deepest
    }

    /// The locations below another one, or at it, that have a rule which pins.
    package func pinnedPaths(below path: TreePath) -> [TreePath] {
        guard let tree = byPath.subtree(at: path) else { return [] }
        var paths: [TreePath] = []
        tree.forEach { below, rule in if rule.isPinned { paths.append(path.appending(below)) } }
        return paths.sorted()
    }

    /// The locations below that of a rule where other rules begin to apply.
    package func exceptions(to rule: TreeCacheRule) -> [TreePath] {
        guard let tree = byPath.subtree(at: rule.path) else { return [] }
        return tree.sortedChildren.flatMap { key, branch in
            branch.outermostPaths.map { rule.path.child(key).appending($0) }
        }
    }

    /// Calls a closure with each rule at, above or below a location.
    package func forEach(overlapping path: TreePath, _ body: (TreeCacheRule) -> Void) {
        byPath.visit(along: path) { depth, rule in
            if depth < path.count { body(rule) }
            return true
        }
        byPath.subtree(at: path)?.forEach { _, rule in body(rule) }
    }
}

// MARK: - Local only

extension TreeCacheRules {
    /// True if a location is local only.
    package func isLocalOnly(_ path: TreePath) -> Bool {
        isOfLocalDatabase || !localOnlyPaths.isEmpty && self[path]?.isLocalOnly == true
    }

    /// True if a write changes locations that are local only.
    ///
    /// - Parameter values: what it replaces, by paths from the root.
    /// - Throws: `invalidArgument` if it changes others as well, or has data for such a location
    ///   that lies below one of the server's.
    package func isLocalOnly(_ values: [PathValue]) throws(LarderError) -> Bool {
        guard !localOnlyPaths.isEmpty, let first = values.first else { return false }
        let isLocal = isLocalOnly(first.path)
        for value in values {
            if isLocalOnly(value.path) != isLocal {
                throw .invalidValue(
                    "the write changes \(first.path) and \(value.path), of which only one is local "
                        + "only by the cache rules; write them separately")
            }
            if !isLocal { try checkForServer(value) }
        }
        return isLocal
    }

    private func checkForServer(_ value: PathValue) throws(LarderError) {
        for path in localOnlyPaths {
            guard let below = path.relative(to: value.path),
                !value.node.node(at: below).isEmpty
            else { continue }
            throw .invalidValue(
                "the write of \(value.path) has data for \(path), which is local only by the cache "
                    + "rules; write that location separately")
        }
    }
}

extension TreeCacheRules: Equatable {
    /// True if both have the same rules in the same order.
    package static func == (left: TreeCacheRules, right: TreeCacheRules) -> Bool {
        left.list == right.list
    }
}
