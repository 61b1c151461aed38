/// A rule for the cached documents of a collection: which of them are evicted, and when.
///
/// Of several rules the most specific one applies to a document: that of the exact path of its
/// collection, else that of its collection group, else that of all collections, else none.
///
/// ```swift
/// configuration.cacheRules = [
///     CacheRule(.collection("menus"), isPinned: true),
///     CacheRule(.collectionGroup("messages"), maximumBytes: 20 << 20, maximumAge: .seconds(604_800)),
///     CacheRule(.collection("tokens"), isNeverCached: true),
/// ]
/// ```
///
/// No rule evicts documents with pending writes, those in the results of a listener, or pinned
/// ones.
public struct CacheRule: Hashable, Sendable {
    /// The documents of a rule.
    public enum Selector: Hashable, Sendable {
        /// The documents of the collection at a path, such as `rooms/1/messages`; there are no
        /// wildcards.
        case collection(String)
        /// The documents of all collections with an ID, such as `messages`, at any depth.
        case collectionGroup(String)
        /// All documents.
        case allCollections
    }

    /// The documents of the rule.
    public var selector: Selector

    /// True if documents are not evicted to keep the cache within its size.
    public var isPinned: Bool

    /// True if documents are evicted as soon as no listener and no pending write needs them.
    public var isNeverCached: Bool

    /// True if documents exist in this store only, and the backend is never asked or told about them.
    ///
    /// Writes take effect in the store and are acknowledged there: they are never pending and never
    /// sent. Reads, queries and listeners see the cache, and nothing is requested from the backend.
    /// Such documents are not evicted to keep the cache within its size, only by the rule's own
    /// limits, and not by hand.
    public var isLocalOnly: Bool

    /// The size in bytes above which the least recently used documents are evicted; nil for none.
    ///
    /// Compared with the space that the documents take in the store, without indexes. When it is
    /// exceeded, about a sixteenth of it is freed.
    public var maximumBytes: Int64?

    /// The time since its last use after which a document is evicted; nil for none.
    ///
    /// A document is used when the backend sends it, when it is read by reference, when it leaves
    /// the results of a listener, and when a query with it stops listening. It is evicted no
    /// earlier, and later by up to an eighth of the age and the time until the next commit or
    /// check; open databases check at every sixteenth of the shortest age, at least every hour.
    /// Documents cached before there was a rule with an age count as used when it was set.
    public var maximumAge: Duration?

    /// Creates a rule.
    ///
    /// A rule without properties is valid: it exempts a collection from the rule of its group.
    public init(
        _ selector: Selector, isPinned: Bool = false, isNeverCached: Bool = false,
        isLocalOnly: Bool = false, maximumBytes: Int64? = nil, maximumAge: Duration? = nil
    ) {
        self.selector = selector
        self.isPinned = isPinned
        self.isNeverCached = isNeverCached
        self.isLocalOnly = isLocalOnly
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }
}

extension CacheRule {
    /// The maximum number of rules.
    package static let maxCount = 256

    /// Rules with paths in their canonical form, without slashes at the ends.
    ///
    /// - Throws: `invalidArgument`, saying which rule and what is wrong with it.
    package static func validated(_ rules: [CacheRule]) throws(LarderError) -> [CacheRule] {
        guard rules.count <= maxCount else {
            throw .invalidArgument(
                "There are \(rules.count) cache rules; at most \(maxCount) are allowed.")
        }
        var (checked, selectors) = ([CacheRule](), Set<Selector>())
        for rule in rules {
            let rule = try rule.validated()
            guard selectors.insert(rule.selector).inserted else {
                throw .invalidArgument(
                    "There are two cache rules for \(rule.selector); combine them in one.")
            }
            checked.append(rule)
        }
        return checked
    }

    private func validated() throws(LarderError) -> CacheRule {
        var rule = self
        switch selector {
        case .collection(let path): rule.selector = .collection(try CollectionPath(path).string)
        case .collectionGroup(let id):
            let path = try CollectionPath(id)
            guard path.segments.count == 1 else {
                throw .invalidArgument(
                    "A cache rule is for the collection group '\(id)'; a group's ID has no slash.")
            }
            rule.selector = .collectionGroup(path.string)
        case .allCollections: break
        }
        if let contradiction {
            throw .invalidArgument("The cache rule for \(selector) \(contradiction).")
        }
        return rule
    }

    private var contradiction: String? {
        if let maximumBytes, maximumBytes < 1 {
            return "has a maximum size of \(maximumBytes) bytes; it must be at least 1"
        }
        if let maximumAge, maximumAge < .seconds(1) {
            return "has a maximum age of \(maximumAge); it must be at least 1 second"
        }
        if let maximumAge, maximumAge > Self.longestAge {
            return "has a maximum age of \(maximumAge); it must be at most 36500 days"
        }
        if isLocalOnly, isNeverCached { return "is both local only and never cached" }
        if isPinned, isNeverCached { return "is both pinned and never cached" }
        let hasLimit = maximumBytes != nil || maximumAge != nil
        if isPinned, hasLimit { return "is pinned and has a limit" }
        if isNeverCached, hasLimit { return "is never cached and has a limit" }
        return nil
    }

    private static let longestAge = Duration.seconds(36_500 * 86_400)

    /// True if the rule evicts documents.
    package var evicts: Bool { isNeverCached || maximumBytes != nil || maximumAge != nil }
}

extension CacheRule.Selector: CustomStringConvertible {
    /// The quoted path, `group` and the quoted ID, or `all collections`.
    public var description: String {
        switch self {
        case .collection(let path): "'\(path)'"
        case .collectionGroup(let id): "group '\(id)'"
        case .allCollections: "all collections"
        }
    }
}
