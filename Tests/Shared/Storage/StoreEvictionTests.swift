import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Eviction")
struct StoreEvictionTests {
    private func store(_ count: Int, automatic: Bool = false) throws -> Store {
        var configuration = StoreConfiguration.inMemory()
        configuration.budget = .bytes(1 << 20)
        configuration.evictsAutomatically = automatic
        let store = try Store(configuration)
        let text = String(repeating: "x", count: 400)
        var random = SeededRandom(seed: 1)
        for start in stride(from: 0, to: count, by: 500) {
            try store.write { transaction throws in
                for number in start..<min(count, start + 500) {
                    try transaction.put(
                        Record([
                            "t": .string(text),
                            "r": .bytes((0..<600).map { _ in UInt8(random.below(256)) }),
                        ]), at: DocumentPath("c/\(number)"), version: .at(1))
                }
            }
        }
        return store
    }

    private func evict(_ store: Store, to bytes: Int64? = nil) throws -> Int64 {
        var evicted: Int64 = 0
        while true {
            let result = try store.evict(toBytes: bytes)
            evicted += result.evictedCount
            if !result.hasMore { return evicted }
        }
    }

    @Test("steps evict the least recently used until the budget holds")
    func budget() throws {
        let store = try store(2000)
        #expect(try store.statistics().totalBytes > 1 << 20)
        #expect(try evict(store) > 0)
        let statistics = try store.statistics()
        #expect(statistics.totalBytes <= 1 << 20)
        #expect(statistics.budgetBytes == 1 << 20)
        #expect(statistics.documentCount > 0 && statistics.evictedDocumentCount > 0)
        #expect(try store.check().isClean)
    }

    @Test("commits over budget evict automatically, unless disabled")
    func automatic() throws {
        let store = try store(2000, automatic: true)
        let statistics = try store.statistics()
        #expect(statistics.totalBytes <= 1 << 20)
        #expect(statistics.evictedDocumentCount > 0)
    }

    @Test("a step looks at no more documents than it may")
    func boundedStep() throws {
        let result = try store(2000).evict(maxDocuments: 10, maxMicroseconds: 1_000_000)
        #expect(result.hasMore && result.examinedCount <= 10 && result.evictedCount <= 10)
    }

    @Test("pinned documents and those with pending writes stay")
    func pins() throws {
        let store = try store(1000)
        let (pinned, pending) = (try DocumentPath("c/3"), try DocumentPath("c/5"))
        try store.pin(pinned)
        try store.write { transaction in
            _ = try transaction.appendMutations(
                [], touching: [TouchedDocument(path: pending)], localWriteTime: .epoch,
                of: .unauthenticated)
        }
        _ = try evict(store, to: 0)
        let left = try store.read { transaction in
            try transaction.allDocuments(in: .collection(CollectionPath("c"))).map(\.path)
        }
        #expect(left == [pinned, pending])
        try store.unpin(pinned)
        // Unpinning counts as a use, which a commit writes down.
        try store.write { try $0.put(Record([:]), at: DocumentPath("d/1"), version: .at(1)) }
        _ = try evict(store, to: 0)
        try store.read { transaction throws in
            #expect(try transaction.document(at: pinned) == nil)
            #expect(try transaction.document(at: pending) != nil)
        }
    }

    @Test("documents of a pinned target stay")
    func pinnedTarget() throws {
        let store = try store(1000)
        let path = try DocumentPath("c/7")
        try store.write { transaction in
            try transaction.put(Target(id: 2, query: [], canonicalID: "x"))
            try transaction.add(path, toTarget: 2)
        }
        try store.pin(target: 2)
        _ = try evict(store, to: 0)
        try store.read { transaction throws in
            #expect(try transaction.document(at: path) != nil)
            #expect(try transaction.target(2) != nil)
        }
        try store.unpin(target: 2)
        _ = try evict(store, to: 0)
        #expect(try store.read { try $0.document(at: path) } == nil)
    }

    @Test("a touched document outlives those written before it")
    func touches() throws {
        let store = try store(3000)
        let path = try DocumentPath("c/1")
        try store.write { transaction in
            try transaction.put(Record([:]), at: DocumentPath("d/1"), version: .at(1))
        }
        try store.touch(path)
        try store.write { transaction in
            try transaction.put(Record([:]), at: DocumentPath("d/2"), version: .at(1))
        }
        let half = try store.statistics().totalBytes / 2
        #expect(try evict(store, to: half) > 500)
        #expect(try store.read { try $0.document(at: path) } != nil)
    }

    @Test("budgets and goals out of range are refused")
    func ranges() throws {
        let store = try store(0)
        #expect(throws: LarderError.self) { try store.setBudget(.bytes(10)) }
        #expect(throws: LarderError.self) { try store.evict(toBytes: -5) }
        try store.setBudget(.unlimited)
        #expect(try store.statistics().budgetBytes == nil)
    }
}
