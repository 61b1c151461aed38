import CLarder
package import LarderRealtimeModel
package import LarderStorage

/// A cache rule of a tree, and what the cache holds by it.
package struct TreeCacheRuleUsage: Hashable, Sendable {
    /// The rule.
    package let rule: TreeCacheRule
    /// The number of tracked queries that the rule applies to.
    package let trackedQueryCount: Int
    /// The space in bytes of the rows that hold nothing but data that the rule applies to; what
    /// its maximum size limits.
    package let sizeBytes: Int64

    // The rule in values that do not need the model.

    /// The rule's location with a slash in front of each component.
    package var path: String { rule.path.description }
    /// True if the rule pins.
    package var isPinned: Bool { rule.isPinned }
    /// True if the rule evicts what nothing uses.
    package var isNeverCached: Bool { rule.isNeverCached }
    /// True if the rule's location is local only.
    package var isLocalOnly: Bool { rule.isLocalOnly }
    /// The rule's maximum size in bytes; nil for none.
    package var maximumBytes: Int64? { rule.maximumBytes }
    /// The rule's maximum time since the last use; nil for none.
    package var maximumAge: Duration? { rule.maximumAge }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The stored cache rules of a tree.
    ///
    /// - Throws: `dataLoss` for a damaged value.
    package func cacheRules(ofTree name: String) throws(LarderError) -> TreeCacheRules {
        guard let value = try namedValue(.global, TreeCacheRules.valueName(ofTree: name)) else {
            return TreeCacheRules()
        }
        do {
            return try TreeCacheRules(json: JSONValue(parsing: value.payload))
        } catch {
            throw LarderError(
                realtime: .dataLoss, "the cache rules of the tree '\(name)' cannot be read",
                condition: .corrupt, cause: error)
        }
    }

    /// The space in bytes of the rows that hold nothing but data that a rule applies to.
    ///
    /// Small content lies in a row of a location above, and counts as none. Reads all rows of the
    /// rule's location.
    package func cachedBytes(
        by rule: TreeCacheRule, of rules: TreeCacheRules, in tree: TreeNumber
    ) throws(LarderError) -> Int64 {
        var size = Int64(try usage(at: rule.path, in: tree).sizeBytes)
        if size == 0 { return 0 }
        for path in rules.exceptions(to: rule) {
            size -= Int64(try usage(at: path, in: tree).sizeBytes)
        }
        return max(0, size)
    }

    /// The rules of a tree, in the order in which they were set, with what is cached by each.
    ///
    /// Linear in the tracked queries of the tree, and in the rows of the rules' locations.
    package func cacheRuleUsage(
        ofTree name: String
    ) throws(LarderError) -> [TreeCacheRuleUsage] {
        let rules = try cacheRules(ofTree: name)
        guard !rules.isEmpty else { return [] }
        var counts: [TreePath: Int] = [:]
        let tree = try tree(named: name)
        let local = try self.tree(named: TreeCacheRules.localTreeName(of: name))
        for query in try tree.map({ (tree) throws(LarderError) in
            try trackedQueries(in: tree)
        }) ?? [] {
            if let rule = rules[query.query.path], !rule.isLocalOnly {
                counts[rule.path, default: 0] += 1
            }
        }
        var usages: [TreeCacheRuleUsage] = []
        for rule in rules.list {
            let size: Int64
            if let tree = rule.isLocalOnly ? local : tree {
                size = try cachedBytes(by: rule, of: rules, in: tree)
            } else {
                size = 0
            }
            usages.append(
                TreeCacheRuleUsage(
                    rule: rule, trackedQueryCount: counts[rule.path] ?? 0, sizeBytes: size))
        }
        return usages
    }
}

extension WriteTransaction {
    /// Replaces the cache rules of a tree.
    package mutating func setCacheRules(
        _ rules: TreeCacheRules, ofTree name: String
    ) throws(LarderError) {
        let valueName = TreeCacheRules.valueName(ofTree: name)
        guard !rules.isEmpty else {
            try removeNamedValue(.global, valueName)
            return
        }
        var payload: [UInt8] = []
        JSONWriter.append(rules.json, to: &payload)
        try putNamedValue(.global, valueName, payload)
    }
}

extension Store {
    /// Deletes the data that no tracked query keeps any more, since queries were removed.
    ///
    /// Makes small commits, until nothing is left that can go.
    ///
    /// - Returns: the freed size in bytes.
    @discardableResult
    package func sweep() throws(LarderError) -> Int64 {
        var freedBytes: Int64 = 0
        var status = Int32.more
        while status == .more {
            var result = larder_lru_result()
            result.struct_bytes = MemoryLayout<larder_lru_result>.size
            try withHandle { (environment) throws(LarderError) in
                status = try call { larder_lru_sweep(environment, 0, 0, &result, $0) }
            }
            freedBytes += result.freed_bytes
        }
        return freedBytes
    }
}

// MARK: - Coding

extension TreeCacheRules {
    /// The name of the tree with what rules of another tree make local only.
    package static func localTreeName(of name: String) -> String { name + ".local" }

    fileprivate static func valueName(ofTree name: String) -> String { "treeCacheRules/" + name }

    fileprivate var json: JSONValue { .array(list.map(\.json)) }

    fileprivate init(json: JSONValue) throws(LarderError) {
        guard case .array(let values) = json else { throw .unreadableRule }
        var rules: [TreeCacheRule] = []
        for value in values { rules.append(try TreeCacheRule(json: value)) }
        try self.init(rules)
    }
}

extension TreeCacheRule {
    private static let names = (
        path: "path", pinned: "pinned", neverCached: "neverCached", localOnly: "localOnly",
        bytes: "maxBytes", age: "maxAgeMs"
    )

    fileprivate var json: JSONValue {
        var members = [JSONMember(Self.names.path, .string(path.text))]
        if isPinned { members.append(JSONMember(Self.names.pinned, .boolean(true))) }
        if isNeverCached { members.append(JSONMember(Self.names.neverCached, .boolean(true))) }
        if isLocalOnly { members.append(JSONMember(Self.names.localOnly, .boolean(true))) }
        if let maximumBytes { members.append(JSONMember(Self.names.bytes, .integer(maximumBytes))) }
        if let maximumAge {
            members.append(JSONMember(Self.names.age, .integer(maximumAge.milliseconds)))
        }
        return .object(members)
    }

    fileprivate init(json: JSONValue) throws(LarderError) {
        guard case .string(let path)? = json[Self.names.path] else { throw .unreadableRule }
        self.init(
            TreePath(path), isPinned: json[Self.names.pinned] == .boolean(true),
            isNeverCached: json[Self.names.neverCached] == .boolean(true),
            isLocalOnly: json[Self.names.localOnly] == .boolean(true),
            maximumBytes: try json.integer(Self.names.bytes),
            maximumAge: try json.integer(Self.names.age).map { .milliseconds($0) })
    }
}

extension JSONValue {
    /// The integer of a member; nil if there is none.
    fileprivate func integer(_ name: String) throws(LarderError) -> Int64? {
        switch self[name] {
        case nil: return nil
        case .integer(let integer): return integer
        default: throw .unreadableRule
        }
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension LarderError {
    fileprivate static var unreadableRule: LarderError {
        LarderError(realtime: .dataLoss, "a cache rule is malformed", condition: .corrupt)
    }
}
