import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime
import LarderStorage

/// Cache rules: pins are marks of the tracked queries, which each walk of eviction finds in the
/// store; what rules do not keep is evicted here, by the client that keeps the cache, after the
/// commit of a turn.
extension DatabaseEngine {
    /// Obeys the rules of the configuration, or those of the store.
    func startCacheRules() {
        guard disk.store != nil else { return }
        adoptStoredCacheRules()
        guard let given = configuration.cacheRules, given != cacheRules else { return }
        disk.setCacheRules(given)
        adopt(given)
    }

    /// Obeys the rules of the store.
    func adoptStoredCacheRules() {
        do throws(LarderError) {
            adopt(try disk.storedCacheRules())
        } catch {
            log("\(error.message); the cache is kept without them")
        }
    }

    /// Obeys rules from now on.
    private func adopt(_ rules: TreeCacheRules) {
        cacheRules = disk.isLocal ? rules.ofLocalDatabase : rules
        disk.ruleSizes = CacheRuleSizes(rules)
        tree.stored?.obey(rules)
        checkAges()
    }

    /// Evicts queries that have become too old at the end of the turn, and schedules the next
    /// check.
    private func checkAges() {
        mustCheckAges = cacheRules.evicts
        cancelTimer(.cacheRules)
        guard let interval = cacheRules.checkInterval else { return }
        setTimer(.cacheRules, after: interval) { $0.checkAges() }
    }

    func setCacheRules(_ rules: TreeCacheRules, _ completion: @escaping Completion<Void>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        guard disk.store != nil else {
            return completion(
                .failure(
                    LarderError(
                        realtime: .failedPrecondition,
                        "the database has no cache that rules could be for; open it in a directory "
                            + "or in memory")))
        }
        let before = cacheRules
        let result = Result { () throws(LarderError) in
            try prepareLocalOnly(rules)
            disk.setCacheRules(rules)
            adopt(rules)
            do throws(LarderError) {
                try disk.commit()
            } catch {
                disk.dropCacheRules()
                adopt(before)
                throw error
            }
        }
        call(later: { completion(result) })
    }

    func cacheRuleUsage(_ completion: @escaping Completion<[TreeCacheRuleUsage]>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        let result = Result { () throws(LarderError) in
            // The rules and queries of this turn count, too.
            try disk.commit()
            return try disk.cacheRuleUsage()
        }
        call(later: { completion(result) })
    }
}

// MARK: - Eviction

extension DatabaseEngine {
    /// Evicts what rules do not keep, after everything of the turn is on disk.
    func evictByRules() {
        guard cacheRules.evicts, !disk.isReader, let released = tree.stored?.takeReleased() else {
            return
        }
        var queries: [TrackedQuery] = []
        for query in released.queries {
            guard let rule = cacheRules[query.query.path] else { continue }
            if rule.isNeverCached { queries.append(query) }
            if rule.maximumBytes != nil { disk.ruleSizes.noteRelease(of: rule) }
        }
        if mustCheckAges { queries = tree.stored?.tracked.outdated(at: tree.now) ?? [] }
        let mustSweep = mustCheckAges || released.hasUnkeptData || !queries.isEmpty
        mustCheckAges = false
        do throws(LarderError) {
            if mustSweep { try evict(queries) }
            for rule in disk.ruleSizes.dueRules { try reduce(to: rule) }
        } catch {
            mustCheckAges = true
            log("what cache rules do not keep cannot be evicted yet: \(error.message)")
        }
    }

    /// Evicts queries that are not in use.
    private func evict(_ queries: [TrackedQuery]) throws(LarderError) {
        var rest = queries[...]
        while !rest.isEmpty {
            tree.stored?.forget(Array(rest.prefix(Self.queriesPerCommit)))
            rest = rest.dropFirst(Self.queriesPerCommit)
            try disk.commit()
        }
        try disk.store?.sweep()
    }

    /// Evicts queries of a rule, least recently used first, if their data exceeds its maximum size.
    private func reduce(to rule: TreeCacheRule) throws(LarderError) {
        guard let maximum = rule.maximumBytes else { return }
        var size = try disk.cachedBytes(by: rule, of: cacheRules)
        if size > maximum {
            forgetEvicted()
            let goal = maximum - CacheRuleSizes.slack(of: maximum)
            var unused = tree.stored?.tracked.unused(of: rule)[...] ?? []
            while size > goal, !unused.isEmpty {
                var (expected, count) = (Int64(0), 0)
                while count < unused.count, count < Self.maximumGroup, size - expected > goal {
                    expected += try disk.estimatedBytes(
                        of: unused[unused.startIndex + count])
                    count += 1
                }
                try evict(Array(unused.prefix(count)))
                unused = unused.dropFirst(count)
                size = try disk.cachedBytes(by: rule, of: cacheRules)
            }
        }
        disk.ruleSizes.measured(size, of: rule)
    }

    /// At most so many queries are removed in one commit.
    private static let queriesPerCommit = 1_000

    /// At most so many queries are evicted before the size is measured again.
    private static let maximumGroup = 256
}
