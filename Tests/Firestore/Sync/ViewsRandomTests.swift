import Foundation
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Testing

@Suite("Active views: random changes")
struct ViewsRandomTests {
    @Test("What listeners have seen is what the queries give on the documents as they are")
    func differential() throws {
        var random = SeededRandom()
        for _ in 0..<30 {
            var session = RandomViewSession(&random)
            for _ in 0..<120 { try session.step() }
            try session.finish()
        }
    }
}

/// Documents, listeners to random queries, and what each of them has been told.
private struct RandomViewSession {
    private var random: SeededRandom
    private var documents: [DocumentPath: Document] = [:]
    private var views = ActiveViews()
    private var listeners: [UInt64: Heard] = [:]
    private var running: [(view: ViewID, result: [Document])] = []
    private var pinned: Set<DocumentPath> = []
    private var lastID: UInt64 = 0

    /// What a listener has been told, and what it made of the changes in it.
    private struct Heard {
        let query: Query
        let options: ListenOptions
        var snapshot: ViewSnapshot?
        var list: [Document] = []
    }

    init(_ random: inout SeededRandom) {
        self.random = SeededRandom(seed: random.next())
    }

    mutating func step() throws {
        switch random.below(10) {
        case 0: try listen()
        case 1: try load()
        case 2: if random.oneIn(2) { stopListening() }
        default: try commit()
        }
        if running.isEmpty { try check() }
    }

    mutating func finish() throws {
        while !running.isEmpty { try load() }
        try check()
        for id in Array(listeners.keys) { stopListening(id) }
        #expect(pinned.isEmpty && views.viewCount == 0, "\(random)")
    }

    // MARK: What happens

    private mutating func listen() throws {
        lastID += 1
        let query = try query()
        let options = ListenOptions(
            includeMetadataChanges: random.oneIn(2), source: random.oneIn(2) ? .cache : .default)
        listeners[lastID] = Heard(query: query, options: options)
        let added = views.addListener(lastID, to: query, options: options)
        if added.needsLoad { running.append((added.view, try run(query))) }
        try deliver(added.step)
    }

    private mutating func load() throws {
        guard !running.isEmpty else { return }
        let (view, result) = running.remove(at: random.below(running.count))
        let documents = documents
        try deliver(
            views.load(view, result) { query throws(LarderError) in
                try Self.run(query, on: documents)
            })
    }

    private mutating func stopListening(_ id: UInt64? = nil) {
        guard let id = id ?? listeners.keys.sorted().randomElement(using: &random) else { return }
        listeners[id] = nil
        if let removed = views.removeListener(id) { pin(removed.step.pinnedPaths) }
    }

    private mutating func commit() throws {
        var changes: [LocalChange] = []
        for _ in 0...random.below(4) {
            let path = try DocumentPath(
                random.pick(["c/", "d/", "c/x/d/", "c/y/d/"]) + "\(random.below(8))")
            let before = documents[path]
            let after = try random.oneIn(4) ? nil : document(path)
            documents[path] = after
            changes.append(LocalChange(path: path, before: before, after: after))
        }
        let documents = documents
        try deliver(
            views.apply(changes) { query throws(LarderError) in
                try Self.run(query, on: documents)
            })
    }

    // MARK: Events

    private mutating func deliver(_ step: ActiveViews.Effects) throws {
        #expect(step.firesSnapshotsInSync == !step.deliveries.isEmpty, "\(random)")
        pin(step.pinnedPaths)
        for delivery in step.deliveries {
            let snapshot = try delivery.result.get()
            guard var heard = listeners[delivery.listener] else {
                Issue.record("a removed listener receives an event; \(random)")
                continue
            }
            #expect(snapshot.documents.isSound, "\(random)")
            #expect(heard.snapshot != nil || snapshot.oldDocuments.isEmpty, "\(random)")
            for change in try snapshot.documentChanges(
                includeMetadataChanges: heard.options.includeMetadataChanges)
            {
                if let index = change.oldIndex {
                    #expect(heard.list.remove(at: index).path == change.document.path)
                }
                if let index = change.newIndex { heard.list.insert(change.document, at: index) }
            }
            #expect(heard.list.map(\.path) == snapshot.documents.map(\.path), "\(random)")
            #expect(heard.list.map(\.fields) == snapshot.documents.map(\.fields), "\(random)")
            heard.snapshot = snapshot
            listeners[delivery.listener] = heard
        }
    }

    private mutating func pin(_ change: PinnedPathsChange) {
        #expect(pinned.isDisjoint(with: change.entered), "\(random)")
        #expect(pinned.isSuperset(of: change.left), "\(random)")
        pinned.formUnion(change.entered)
        pinned.subtract(change.left)
    }

    private func check() throws {
        var held: Set<DocumentPath> = []
        for heard in listeners.values {
            let expected = try run(heard.query)
            held.formUnion(expected.map(\.path))
            guard let snapshot = heard.snapshot else {
                Issue.record("a listener was told nothing though the client is offline; \(random)")
                continue
            }
            #expect(snapshot.documents.map(\.path) == expected.map(\.path), "\(random)")
            #expect(snapshot.documents.map(\.fields) == expected.map(\.fields), "\(random)")
            guard heard.options.includeMetadataChanges else { continue }
            let pending = Set(expected.filter(\.hasLocalMutations).map(\.path))
            #expect(Set(snapshot.mutatedKeys) == pending, "\(random)")
        }
        #expect(pinned == held, "\(random)")
    }

    // MARK: Documents and queries

    private func run(_ query: Query) throws(LarderError) -> [Document] {
        try Self.run(query, on: documents)
    }

    private static func run(_ query: Query, on documents: [DocumentPath: Document])
        throws(LarderError) -> [Document]
    {
        let matcher = try QueryMatcher(query)
        let comparator = DocumentComparator(orders: query.orders)
        let matching = documents.values.filter { matcher.matches($0) }
            .sorted { comparator.compare($0, $1) == .orderedAscending }
        return switch query.limit {
        case .first(let count): Array(matching.prefix(count))
        case .last(let count): Array(matching.suffix(count))
        case nil: matching
        }
    }

    private mutating func document(_ path: DocumentPath) throws -> Document {
        var fields: MapValue = [:]
        for name in ["n", "m"] where !random.oneIn(6) { fields[name] = value() }
        if random.oneIn(2) { fields["l"] = .array([value(), value()]) }
        return try .test(path.string, fields, random.oneIn(3) ? .local : .synced)
    }

    private mutating func value() -> Value {
        switch random.below(8) {
        case 0: .null
        case 1: .double(Double(random.below(3)))
        case 2: .string(random.pick(["a", "b"]))
        case 3: random.pick([.double(.nan), .double(-0.0)] as [Value])
        default: .integer(Int64(random.below(4)))
        }
    }

    private mutating func query() throws -> Query {
        var query = Query(
            random.pick(
                [
                    .collection(try CollectionPath("c")), .collection(try CollectionPath("d")),
                    .collection(try CollectionPath("c/x/d")), .group("d"),
                    .document(try DocumentPath("c/\(random.below(8))")),
                ] as [Query.Source]))
        if case .document = query.source { return query }
        for _ in 0..<random.below(3) { query.filters.append(try filter(depth: 1)) }
        for name in ["n", "m"] where random.oneIn(3) {
            query.explicitOrders.append(
                Order(try FieldPath(name), isDescending: random.oneIn(2)))
        }
        if query.explicitOrders.isEmpty { query.explicitOrders.append(Order(.documentID)) }
        switch random.below(3) {
        case 0: query.limit = .first(1 + random.below(4))
        case 1: query.limit = .last(1 + random.below(4))
        default: break
        }
        if random.oneIn(5), !query.explicitOrders[0].path.isDocumentID {
            query.start = Bound([value()], isInclusive: random.oneIn(2))
        }
        return query
    }

    private mutating func filter(depth: Int) throws -> Filter {
        if depth > 0, random.oneIn(4) {
            let parts = [try filter(depth: 0), try filter(depth: 0)]
            return random.oneIn(2) ? .or(parts) : .and(parts)
        }
        let field = random.pick(["n", "m"])
        switch random.below(7) {
        case 0: return .field(try .test(field, .greaterThan, value()))
        case 1: return .field(try .test(field, .notEqual, value()))
        case 2: return .field(try .test(field, .in, .array([value(), value()])))
        case 3: return .field(try .test("l", .arrayContains, value()))
        case 4: return .field(try .test("l", .arrayContainsAny, .array([value(), value()])))
        default: return .field(try .test(field, .equal, value()))
        }
    }
}
