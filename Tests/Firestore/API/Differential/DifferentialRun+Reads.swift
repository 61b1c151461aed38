import Foundation
import Larder
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization

extension DifferentialRun {
    func runQuery() async throws {
        try await check(TestQuery(&random, in: world, model.documents))
        coverage.operations += 1
        coverage.queries += 1
    }

    /// The plan with indexes finds what a scan finds, and the model.
    private func check(_ query: TestQuery) async throws {
        let expected = NaiveEvaluator(query.content).documents(among: model.documents)
        let asked = try await query.query(in: indexed)
        let found = try await asked.getDocuments(source: source)
        let scanned = try await query.query(in: plain).getDocuments(source: .cache)
        let names = found.documents.map(\.reference.path)
        coverage.found += names.count
        if names != expected.map(\.string) || scanned.documents.map(\.reference.path) != names {
            try fail(
                """
                \(query.content)
                found   \(names)
                scanned \(scanned.documents.map(\.reference.path))
                model   \(expected.map(\.string))
                \(try await asked.explain())
                """)
        }
        let kind = try await asked.explain().kind
        coverage.plans[kind, default: 0] += 1
        if random.oneIn(8) {
            for (document, path) in zip(found.documents, expected) { try check(document, path) }
        }
        let isPending = expected.contains { model.states[$0]?.isPending == true }
        if found.metadata.hasPendingWrites != isPending || found.metadata.isFromCache == isLocal {
            try fail("\(query.content): pending writes \(found.metadata.hasPendingWrites)")
        }
    }

    /// The source of a read: any of them in a local database.
    private var source: FirestoreSource {
        isLocal ? random.pick([.cache, .default, .server]) : .cache
    }

    private func check(_ document: DocumentSnapshot, _ path: DocumentPath) throws {
        let state = model.states[path]
        let behavior = random.pick([ServerTimestampBehavior.none, .estimate, .previous])
        if let problem = Self.difference(document.data(with: behavior), state?.fields, behavior) {
            try fail("\(path): \(problem)")
        }
        let isPending = document.metadata.hasPendingWrites
        if state?.fields != nil, isPending != state?.isPending {
            try fail("\(path) has pending writes: \(isPending)")
        }
    }

    /// What is different between what was read and what is expected; nil for nothing.
    static func difference(
        _ data: [String: Any]?, _ expected: MapValue?, _ behavior: ServerTimestampBehavior = .none
    ) -> String? {
        let isSame =
            if let data, let expected {
                Value.map(expected).isRead(as: data, behavior)
            } else {
                data == nil && expected == nil
            }
        return isSame ? nil : "\(String(describing: data)), not \(String(describing: expected))"
    }

    func readDocument() async throws {
        try await checkDocument(random.pick(world.paths))
        coverage.operations += 1
    }

    private func checkDocument(_ path: DocumentPath) async throws {
        let document: DocumentSnapshot
        do {
            document = try await indexed.document(path.string).getDocument(source: source)
        } catch let error as LarderError where error.kind == .unavailable {
            let state = model.states[path]
            if isLocal || state != nil {
                try fail("\(path) is not known: \(String(describing: state))")
            }
            return
        }
        // What a local database does not have does not exist.
        let known = model.states[path] ?? (isLocal ? DifferentialModel.State() : nil)
        guard let state = known else { try fail("\(path) is known") }
        if document.metadata.isFromCache == isLocal { try fail("\(path): \(document.metadata)") }
        if document.exists != (state.fields != nil) {
            try fail("\(path) exists: \(document.exists)")
        }
        try check(document, path)
    }

    func runAggregate() async throws {
        let query = TestQuery(&random, in: world, model.documents)
        let path = random.pick(world.fields)
        let field = Larder.FieldPath(path.segments)
        let evaluator = NaiveEvaluator(query.content)
        // A count alone needs no field.
        let isCount = random.oneIn(4)
        let matching =
            isCount
            ? evaluator.documents(among: model.documents)
            : evaluator.documents(aggregating: path, among: model.documents)
        let values = matching.compactMap { model.documents[$0]?.value(at: path) }
        let numbers = values.compactMap { value -> Double? in
            switch value {
            case .integer(let number): Double(number)
            case .double(let number): number
            default: nil
            }
        }
        let sum = numbers.reduce(0, +)
        let expected: [(AggregateField, Value)] = [
            (.count(), .integer(Int64(matching.count))), (.sum(field), .double(sum)),
            (.average(field), numbers.isEmpty ? .null : .double(sum / Double(numbers.count))),
            (.minimum(field), values.min { $0.modelOrder(to: $1) < 0 } ?? .null),
            (.maximum(field), values.max { $0.modelOrder(to: $1) < 0 } ?? .null),
        ]
        let asked =
            isCount
            ? [expected[0]]
            : random.oneIn(2) ? expected : [random.pick(Array(expected.dropFirst()))]
        let found = try await query.query(in: indexed).aggregate(asked.map(\.0))
            .getAggregation(source: isLocal && random.oneIn(2) ? .server : .cache)
        for (aggregate, value) in asked
        where found.value(aggregate)?.modelOrder(to: value) != 0 {
            try fail(
                "\(query.content)\n\(path): \(String(describing: found.value(aggregate))), "
                    + "not \(value)")
        }
        coverage.operations += 1
    }

    func changeListeners() async throws {
        if listeners.count > 3 || listeners.count > 1 && random.oneIn(3) {
            listeners.remove(at: random.below(listeners.count)).remove()
        } else {
            let query = TestQuery(&random, in: world, model.documents)
            let listener = DifferentialListener(
                query, try await query.query(in: indexed), includesMetadata: random.oneIn(2))
            await listener.loaded()
            listeners.append(listener)
        }
        coverage.operations += 1
        try await checkListeners("listening")
    }

    /// Each listener's changes lead to the present result of its query.
    func checkListeners(_ step: String) async throws {
        if listeners.isEmpty { return }
        await indexed.drainCallbacks()
        for listener in listeners {
            let (replayed, violation) = listener.replayed
            let note = "after \(step)\na listener on \(listener.query.content)"
            if let violation { try fail("\(note): \(violation)") }
            let expected = NaiveEvaluator(listener.query.content).documents(among: model.documents)
            if replayed.map(\.reference.path) != expected.map(\.string) {
                try fail("\(note): \(replayed.map(\.reference.path)), not \(expected)")
            }
            for (document, path) in zip(replayed, expected) {
                if let problem = Self.difference(document.data(), model.documents[path]) {
                    try fail("\(note), \(path): \(problem)")
                }
                let isPending = document.metadata.hasPendingWrites
                if isLocal, document.metadata.isFromCache { try fail("\(note): \(path) is cached") }
                if listener.includesMetadata, isPending != model.states[path]?.isPending {
                    try fail("\(note): \(path) has pending writes: \(isPending)")
                }
            }
        }
    }

    /// Every document and every collection is as the model has it.
    func checkEverything() async throws {
        for path in world.paths { try await checkDocument(path) }
        for collection in world.collections {
            try await check(TestQuery(Query(.collection(collection))))
        }
        try await check(TestQuery(Query(.group("rooms"))))
        try await checkListeners("everything")
    }
}

/// A listener whose results are put together from its changes alone.
final class DifferentialListener: Sendable {
    fileprivate struct State {
        var documents: [QueryDocumentSnapshot] = []
        var count = 0
        var violation: String?
    }

    let query: TestQuery
    let includesMetadata: Bool
    private let state = Mutex(State())
    private let first = Recorder<Bool>()
    private let registration = Mutex<(any ListenerRegistration)?>(nil)

    init(_ query: TestQuery, _ asked: Larder.Query, includesMetadata: Bool) {
        self.query = query
        self.includesMetadata = includesMetadata
        let registration = asked.addSnapshotListener(includeMetadataChanges: includesMetadata) {
            [weak self] snapshot, error in
            self?.hear(snapshot, error)
        }
        self.registration.withLock { $0 = registration }
    }

    deinit {
        remove()
    }

    func remove() {
        registration.withLock { $0 }?.remove()
    }

    /// Suspends until the first snapshot has come.
    func loaded() async { _ = await first.first(1) }

    /// The documents that the changes have led to, and what was wrong with one of them.
    var replayed: (documents: [QueryDocumentSnapshot], violation: String?) {
        state.withLock { ($0.documents, $0.violation) }
    }

    /// The number of snapshots so far.
    var snapshotCount: Int { state.withLock { $0.count } }

    private func hear(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
        state.withLock { state in
            guard let snapshot else {
                state.violation = state.violation ?? "\(String(describing: error))"
                return
            }
            let changes = snapshot.documentChanges(includeMetadataChanges: includesMetadata)
            if state.count > 0, changes.isEmpty, !includesMetadata {
                state.violation = state.violation ?? "a snapshot without changes"
            }
            state.count += 1
            for change in changes { state.violation = state.violation ?? state.apply(change) }
            let (replayed, whole) = (
                state.documents.map(\.reference.path), snapshot.documents.map(\.reference.path)
            )
            if replayed != whole {
                state.violation =
                    state.violation ?? "changes lead to \(replayed), the snapshot has \(whole)"
            }
        }
        if snapshot != nil { first.record(true) }
    }
}

extension DifferentialListener.State {
    /// Applies a change; what is wrong with it, nil for nothing.
    fileprivate mutating func apply(_ change: DocumentChange) -> String? {
        let (old, new) = (Int(change.oldIndex), Int(change.newIndex))
        let path = change.document.reference.path
        if change.type == .added {
            if old != NSNotFound { return "\(path) was added from \(old)" }
        } else {
            guard documents.indices.contains(old), documents[old].reference.path == path else {
                return "\(path) was not at \(old)"
            }
            documents.remove(at: old)
        }
        if change.type == .removed {
            return new == NSNotFound ? nil : "\(path) was removed to \(new)"
        }
        guard (0...documents.count).contains(new) else { return "\(path) cannot be at \(new)" }
        documents.insert(change.document, at: new)
        return nil
    }
}
