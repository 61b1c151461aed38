import LarderDocumentStore
import LarderModel
import LarderQuery

extension Engine {
    /// Replaces the cache rules, and evicts what they do not keep.
    func setCacheRules(_ rules: [CacheRule], _ completion: Completion) {
        completion(
            Result { () throws(LarderError) in
                guard !isTerminated else { throw Client.terminated }
                let rules = try CacheRule.validated(rules)
                let new = CacheRules(rules, isLocal: cacheRules.isLocal)
                try new.checkLocal()
                try checkLocalOnly(new)
                noteTime()
                try store.write { (transaction) throws(LarderError) in
                    try transaction.setCacheRules(rules)
                }
                adopt(new)
                collect()
            })
    }

    /// Throws unless the active queries stay on their side, the backend's or the store's.
    private func checkLocalOnly(_ new: CacheRules) throws(LarderError) {
        try new.checkUnshared(configuration)
        for data in targets.data.values.sorted(by: { $0.id < $1.id }) {
            let source = data.target.source
            let wasLocal = try cacheRules.isLocalOnly(source)
            guard try new.isLocalOnly(source) != wasLocal else { continue }
            throw LarderError(
                .failedPrecondition,
                "The cache rules change whether a query that has a listener is local only: "
                    + "\(source). Remove its listeners first.")
        }
    }

    /// Obeys cache rules from now on.
    func adopt(_ rules: CacheRules) {
        publish(rules)
        timers.removeValue(forKey: .cacheRules)?()
        scheduleCacheCheck()
    }

    /// Obeys the rules that another client of the store has set.
    func adoptStoredCacheRules() {
        do throws(LarderError) {
            let stored = try CacheRules.stored(in: store)
            if stored != cacheRules.list {
                adopt(CacheRules(stored, isLocal: cacheRules.isLocal))
            }
            collect()
        } catch {
            log("cannot read the cache rules: \(error)")
        }
    }

    /// Schedules the next check for documents that are too old.
    private func scheduleCacheCheck() {
        guard let interval = cacheRules.checkInterval,
            configuration.storage.access != .readOnly
        else { return }
        noteTime()
        schedule(.cacheRules, after: interval)
    }

    /// Evicts documents that have become too old, and schedules the next check.
    func checkCacheAges() {
        noteTime()
        collect()
        scheduleCacheCheck()
    }

    /// Gives the store the time by which ages are counted.
    func noteTime() {
        guard evictsByRules, cacheRules.checkInterval != nil else { return }
        // Fails only for a closed store, which evicts nothing.
        try? store.setTime(configuration.clock())
    }
}
