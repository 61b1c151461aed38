import LarderDocumentStore
import LarderModel
import LarderQuery

/// The cache rules as the engine looks them up; eviction reads them from the store.
struct CacheRules: Sendable {
    let list: [CacheRule]
    /// True for a local database, all of whose documents are local only, whatever the rules.
    let isLocal: Bool
    /// True if a rule evicts documents.
    let evicts: Bool
    /// The time between checks for documents that are too old; nil if no rule has an age.
    let checkInterval: Duration?
    /// True for each path or group ID whose rule is local only; empty if none is.
    private let byPath: [String: Bool]
    private let byGroup: [String: Bool]
    /// True if the rule of all collections is local only.
    private let others: Bool

    init(_ list: [CacheRule] = [], isLocal: Bool = false) {
        self.list = list
        self.isLocal = isLocal
        evicts = list.contains { $0.evicts }
        let shortestAge = list.compactMap(\.maximumAge).min()
        checkInterval = shortestAge.map { min(max($0 / 16, .seconds(1)), .seconds(3_600)) }
        var (byPath, byGroup, others) = ([String: Bool](), [String: Bool](), false)
        if list.contains(where: { $0.isLocalOnly }) {
            for rule in list {
                switch rule.selector {
                case .collection(let path): byPath[path] = rule.isLocalOnly
                case .collectionGroup(let id): byGroup[id] = rule.isLocalOnly
                case .allCollections: others = rule.isLocalOnly
                }
            }
        }
        (self.byPath, self.byGroup, self.others) = (byPath, byGroup, others)
    }

    /// Stores the rules of a configuration if they are others, and reads those in force.
    init(
        _ configuration: ClientConfiguration, isLocal: Bool, in store: Store
    ) throws(LarderError) {
        let stored = try Self.stored(in: store)
        let given = configuration.storage.access == .readOnly ? nil : configuration.cacheRules
        let rules = CacheRules(given ?? stored, isLocal: isLocal)
        try rules.checkUnshared(configuration)
        try rules.checkLocal()
        guard let configured = try given.map(CacheRule.validated), configured != stored else {
            self.init(stored, isLocal: isLocal)
            return
        }
        try store.setTime(configuration.clock())
        try store.write { (transaction) throws(LarderError) in
            try transaction.setCacheRules(configured)
        }
        self.init(configured, isLocal: isLocal)
    }

    /// The rules of a store; none if they are damaged, as eviction has it.
    static func stored(in store: Store) throws(LarderError) -> [CacheRule] {
        do throws(LarderError) {
            return try store.read { (transaction) throws(LarderError) in
                try transaction.cacheRules().map(\.rule)
            }
        } catch {
            guard error.kind == .dataLoss else { throw error }
            return []
        }
    }
}

// MARK: - Local only

extension CacheRules {
    var hasLocalOnly: Bool { isLocal || others || !byPath.isEmpty || !byGroup.isEmpty }

    /// True if the documents of a collection are local only.
    func isLocalOnly(_ collection: CollectionPath) -> Bool {
        guard hasLocalOnly, !isLocal else { return isLocal }
        return byPath[collection.string] ?? byGroup[collection.id] ?? others
    }

    func isLocalOnly(_ path: DocumentPath) -> Bool { hasLocalOnly && isLocalOnly(path.parent) }

    /// True if a query reads documents that are local only.
    ///
    /// - Throws: `invalidArgument` for a group with collections of both kinds.
    func isLocalOnly(_ source: Query.Source) throws(LarderError) -> Bool {
        guard hasLocalOnly, !isLocal else { return isLocal }
        switch source {
        case .collection(let path): return isLocalOnly(path)
        case .document(let path): return isLocalOnly(path)
        case .group(let id):
            let ofGroup = byGroup[id] ?? others
            let exceptions = byPath.filter { path, isLocalOnly in
                isLocalOnly != ofGroup && (path == id || path.hasSuffix("/" + id))
            }
            guard let exception = exceptions.keys.min() else { return ofGroup }
            throw .invalidArgument(
                "The collection group '\(id)' cannot be queried: by the cache rules '\(exception)' "
                    + "is \(ofGroup ? "not " : "")local only, and other collections are\(ofGroup ? "" : " not")."
            )
        }
    }

    /// True if a write changes documents that are local only.
    ///
    /// - Throws: `invalidArgument` if it changes others as well.
    func isLocalOnly(_ mutations: [Mutation]) throws(LarderError) -> Bool {
        guard hasLocalOnly, !isLocal, let first = mutations.first else { return isLocal }
        let isLocal = isLocalOnly(first.path)
        for mutation in mutations where isLocalOnly(mutation.path) != isLocal {
            throw .invalidArgument(
                "The write changes '\(first.path)' and '\(mutation.path)', of which only one is "
                    + "local only by the cache rules: write them separately.")
        }
        return isLocal
    }

    /// Throws `invalidArgument` for collections that are local only in a store of several clients.
    func checkUnshared(_ configuration: ClientConfiguration) throws(LarderError) {
        guard hasLocalOnly, !isLocal,
            configuration.sharing != nil || configuration.storage.access == .shared
        else { return }
        throw .invalidArgument(
            "A cache rule is local only; a store that several processes share cannot have such "
                + "rules.")
    }

    /// Throws `invalidArgument` for rules of a local database that evict documents.
    func checkLocal() throws(LarderError) {
        guard isLocal, let rule = list.first(where: { $0.evicts }) else { return }
        throw .invalidArgument(
            "The cache rule for \(rule.selector) evicts documents, and the database is local: it "
                + "has nothing to fetch them from again. Remove the rule's limit.")
    }

    /// Throws `invalidArgument` if documents are not known to the backend.
    func checkRemote(_ paths: some Sequence<DocumentPath>) throws(LarderError) {
        guard hasLocalOnly, let path = paths.first(where: { isLocalOnly($0) }) else { return }
        throw Self.refusal("'\(path)'")
    }

    /// Throws `invalidArgument` for a query of documents that are not known to the backend.
    func checkRemote(_ source: Query.Source) throws(LarderError) {
        if try isLocalOnly(source) { throw Self.refusal("The query's source") }
    }

    private static func refusal(_ what: String) -> LarderError {
        .invalidArgument(
            "\(what) is local only by the cache rules: the backend is not asked for it, and "
                + "transactions and bulk writers at the backend do not reach it.")
    }
}
