import CLarder
public import LarderModel
public import LarderStorage

/// A cache rule, and what the cache holds of its documents.
public struct CacheRuleUsage: Hashable, Sendable {
    /// The rule.
    public let rule: CacheRule
    /// The number of cached documents that the rule applies to and that exist.
    public let documentCount: Int64
    /// The space in bytes that the documents take in the store, including those known not to exist;
    /// what the rule's `maximumBytes` limits.
    public let sizeBytes: Int64
}

extension ReadableTransaction where Self: ~Copyable {
    /// The stored cache rules, in the order in which they were set.
    ///
    /// Linear in the collections of the rules' groups, or in all of them.
    public func cacheRules() throws(LarderError) -> [CacheRuleUsage] {
        var usages: [CacheRuleUsage] = []
        while true {
            var stored = larder_cache_rule()
            stored.struct_bytes = MemoryLayout<larder_cache_rule>.size
            let status = try call {
                larder_cache_rules_get(snapshot.reader, usages.count, &stored, $0)
            }
            guard status == .ok else { return usages }
            usages.append(CacheRuleUsage(stored))
        }
    }
}

extension WriteTransaction {
    /// Replaces the cache rules; every process that evicts documents of the store obeys them.
    ///
    /// - Throws: `invalidArgument` for rules that contradict themselves or each other.
    public mutating func setCacheRules(_ rules: [CacheRule]) throws(LarderError) {
        let rules = try CacheRule.validated(rules)
        let writer = writer
        // One buffer for all paths, which the core copies.
        let paths = rules.map { Array($0.selector.path.utf8) }
        let joined = paths.flatMap { $0 }
        try call { failure in
            joined.withUnsafeBytes { bytes in
                var (start, stored) = (0, [larder_cache_rule]())
                for (rule, path) in zip(rules, paths) {
                    let end = start + path.count
                    stored.append(
                        rule.stored(
                            larder_bytes(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))))
                    start = end
                }
                return larder_cache_rules_set(writer, stored, stored.count, failure)
            }
        }
    }
}

extension Store {
    /// Sets the time by which the ages of cache rules are counted, instead of the system's.
    package func setTime(_ time: Timestamp) throws(LarderError) {
        let microseconds = time.seconds * 1_000_000 + Int64(time.nanoseconds) / 1_000
        try withHandle { (environment) throws(LarderError) in
            _ = try call { larder_lru_set_time(environment, max(0, microseconds), $0) }
        }
    }
}

extension CacheRule.Selector {
    fileprivate var path: String {
        switch self {
        case .collection(let path): path
        case .collectionGroup(let id): id
        case .allCollections: ""
        }
    }
}

extension CacheRule {
    fileprivate func stored(_ path: larder_bytes) -> larder_cache_rule {
        var stored = larder_cache_rule()
        stored.struct_bytes = MemoryLayout<larder_cache_rule>.size
        stored.path = path
        switch selector {
        case .collection: stored.scope = Int32(LARDER_RULE_COLLECTION)
        case .collectionGroup: stored.scope = Int32(LARDER_RULE_GROUP)
        case .allCollections: stored.scope = Int32(LARDER_RULE_ALL)
        }
        if isPinned { stored.flags |= .pinned }
        if isNeverCached { stored.flags |= .neverCached }
        if isLocalOnly { stored.flags |= .localOnly }
        stored.max_bytes = maximumBytes ?? 0
        stored.max_age_us = maximumAge.map(\.microseconds) ?? 0
        return stored
    }
}

extension CacheRuleUsage {
    fileprivate init(_ stored: larder_cache_rule) {
        let path = stored.path.text
        let selector: CacheRule.Selector =
            switch stored.scope {
            case Int32(LARDER_RULE_COLLECTION): .collection(path)
            case Int32(LARDER_RULE_GROUP): .collectionGroup(path)
            default: .allCollections
            }
        rule = CacheRule(
            selector,
            isPinned: stored.flags & .pinned != 0,
            isNeverCached: stored.flags & .neverCached != 0,
            isLocalOnly: stored.flags & .localOnly != 0,
            maximumBytes: stored.max_bytes == 0 ? nil : stored.max_bytes,
            maximumAge: stored.max_age_us == 0 ? nil : .microseconds(stored.max_age_us))
        documentCount = stored.document_count
        sizeBytes = stored.size_bytes
    }
}

extension UInt32 {
    fileprivate static let pinned = UInt32(LARDER_RULE_PINNED)
    fileprivate static let neverCached = UInt32(LARDER_RULE_NEVER_CACHED)
    fileprivate static let localOnly = UInt32(LARDER_RULE_LOCAL_ONLY)
}

extension Duration {
    /// Whole microseconds, at least one.
    fileprivate var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return max(1, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
