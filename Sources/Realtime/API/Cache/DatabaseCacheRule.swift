import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeSync

/// A rule for what is cached of a location and everything below it: what is evicted, and when, and
/// whether it is sent to the server at all.
///
/// A rule applies to the queries, observed or read, whose location is that of the rule or lies below
/// it, and to the data that they keep. Of several rules the deepest one applies.
///
/// ```swift
/// configuration.cacheRules = [
///     DatabaseCacheRule("menus", isPinned: true),
///     DatabaseCacheRule("chats", maximumBytes: 20 << 20, maximumAge: .seconds(604_800)),
///     DatabaseCacheRule("chats/lobby"),  // as without a rule
///     DatabaseCacheRule("sessions", isNeverCached: true),
///     DatabaseCacheRule("drafts", isLocalOnly: true),
/// ]
/// ```
///
/// No rule evicts pending writes, or data that an observer, `keepSynced` or a pin keeps. Data that
/// is evicted is unknown: it is complete again once the server has sent it.
public struct DatabaseCacheRule: Hashable, Sendable {
    /// The location, such as `chats/lobby`; empty or `/` for the whole database.
    ///
    /// There are no wildcards. Slashes at the ends and repeated ones are ignored.
    public var path: String

    /// True if what is cached is not evicted to keep the cache within its size, nor by
    /// ``Database/evict(toBytes:)``.
    ///
    /// Also holds for the location if it was cached with one above it that has no such rule. A
    /// filtered query above the location keeps its children under the rule of its own location.
    public var isPinned: Bool

    /// True if data is evicted as soon as no observer, `keepSynced` or read needs it.
    public var isNeverCached: Bool

    /// True if the location is kept in the store alone: what is written there is never sent and
    /// never queued, and the server is not asked for it.
    ///
    /// Such a location is no part of those above it: their observers, reads and writes do not see
    /// it. No rule applies below it. Not available in a directory that several processes share, and
    /// without a store (``DatabaseConfiguration/Storage/memoryWithoutUnused``).
    public var isLocalOnly: Bool

    /// The size in bytes above which the least recently used queries are evicted; nil for none.
    ///
    /// Compared with the space of the rows that hold nothing but data of the location, without that
    /// below it which has another rule. When it is exceeded, about a sixteenth of it is freed. It
    /// is checked after writes, and can be exceeded by a sixteenth until the next check.
    public var maximumBytes: Int64?

    /// The time since its last use after which a query is evicted; nil for none.
    ///
    /// A query is used until its last observer is removed, and when the server answers a read of
    /// it. It is evicted no earlier; open databases check at every sixteenth of the shortest age,
    /// at least every hour.
    public var maximumAge: Duration?

    /// Creates a rule.
    ///
    /// A rule without properties is valid: it exempts a location from the rules above it.
    public init(
        _ path: String, isPinned: Bool = false, isNeverCached: Bool = false,
        isLocalOnly: Bool = false, maximumBytes: Int64? = nil, maximumAge: Duration? = nil
    ) {
        self.path = path
        self.isPinned = isPinned
        self.isNeverCached = isNeverCached
        self.isLocalOnly = isLocalOnly
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }
}

/// A cache rule, and what the cache holds by it.
public struct DatabaseCacheRuleUsage: Hashable, Sendable {
    /// The rule.
    public let rule: DatabaseCacheRule
    /// The number of queries whose data is cached and that the rule applies to.
    public let trackedQueryCount: Int
    /// The space in bytes of the rows that hold nothing but data that the rule applies to; what the
    /// rule's `maximumBytes` limits.
    ///
    /// Data of less than a row, some kilobytes, may be stored with that around it and count as
    /// none.
    public let sizeBytes: Int64
}

extension Database {
    /// The cache rules that are in force, in order, with what is cached by each.
    ///
    /// Linear in the number of cached queries, and in the cached data at the rules' locations.
    ///
    /// - Throws: `failedPrecondition` for a closed database; errors of the store.
    public nonisolated(nonsending) func cacheRuleUsage()
        async throws(DatabaseError) -> [DatabaseCacheRuleUsage]
    {
        try await ask { $0.cacheRuleUsage(completion: $1) }.map(DatabaseCacheRuleUsage.init)
    }

    /// Replaces the cache rules, and evicts what they do not keep.
    ///
    /// The rules are stored: they also hold for later openings with nil as
    /// ``DatabaseConfiguration/cacheRules``, for other processes that share the directory and for
    /// the command-line tool. Of several processes, the one that keeps the cache evicts. Eviction
    /// goes on after the call returns.
    ///
    /// - Throws: `invalidArgument` for more than 256 rules, two rules of one location, an invalid
    ///   path, a rule that contradicts itself, one below a local-only location, or a local-only one
    ///   in a shared directory; nothing is changed then. `failedPrecondition` for a closed
    ///   database, one without a cache, or rules that change whether a location is local only while
    ///   it has an observer; errors of the store.
    public nonisolated(nonsending) func setCacheRules(
        _ rules: [DatabaseCacheRule]
    ) async throws(DatabaseError) {
        let checked: TreeCacheRules
        do throws(LarderError) {
            checked = try TreeCacheRules(rules)
        } catch {
            throw DatabaseError(error)
        }
        try await ask { $0.setCacheRules(checked, completion: $1) }
    }
}

// MARK: - Model

extension TreeCacheRules {
    /// - Throws: `invalidArgument`, saying which rule and what is wrong with it.
    init(_ rules: [DatabaseCacheRule]) throws(LarderError) {
        var list: [TreeCacheRule] = []
        for rule in rules {
            list.append(
                TreeCacheRule(
                    try TreePath(validating: rule.path), isPinned: rule.isPinned,
                    isNeverCached: rule.isNeverCached, isLocalOnly: rule.isLocalOnly,
                    maximumBytes: rule.maximumBytes, maximumAge: rule.maximumAge))
        }
        try self.init(list)
    }
}

extension DatabaseCacheRuleUsage {
    fileprivate init(_ usage: TreeCacheRuleUsage) {
        let rule = usage.rule
        self.rule = DatabaseCacheRule(
            rule.path.text, isPinned: rule.isPinned, isNeverCached: rule.isNeverCached,
            isLocalOnly: rule.isLocalOnly, maximumBytes: rule.maximumBytes,
            maximumAge: rule.maximumAge)
        trackedQueryCount = usage.trackedQueryCount
        sizeBytes = usage.sizeBytes
    }
}
