import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import LarderTestSupport

/// Random steps on a local store and on ``LocalModel``.
struct LocalStoreRun {
    var random: SeededRandom
    private(set) var store: Store
    private let configuration: StoreConfiguration
    let paths: [DocumentPath]
    let users = ["", "alice", "bob"].map { UserID($0) }
    var model = LocalModel()
    private var clock: Int64 = 1
    /// The length of queues beyond which most steps shorten them.
    private let queueLength: Int

    /// A run on a store in a directory, which is opened again now and then, or in memory.
    init(_ random: SeededRandom, directory: String?) throws {
        self.random = random
        queueLength = self.random.oneIn(2) ? 6 : 40
        var configuration = directory.map { StoreConfiguration(directory: $0) } ?? .inMemory()
        configuration.durability = .lastCommitAtRisk
        configuration.coldFieldBytes = 16
        self.configuration = configuration
        store = try Store(configuration)
        paths = try ["c/a", "c/b", "c/a/d/x", "e/__id2__"].map { try DocumentPath($0) }
    }

    /// Makes a step; returns what is wrong after it, nil for nothing.
    mutating func step() throws -> String? {
        clock += random.oneIn(30) ? 150 : 1
        let user = random.pick(users)
        let local = LocalStore(
            store: store, user: user, databaseID: DatabaseID(project: "p", database: "d"))
        let before = views(of: user)
        let changes: [LocalChange]
        let queue = model.queues[user, default: []]
        let action: String
        switch random.below(queue.count > queueLength ? 11 : 17) {
        case 0, 1, 2, 3:
            action = "acknowledge"
            changes = try acknowledge(queue.prefix(1 + random.below(3)), local)
        case 4, 5:
            action = "reject"
            changes = try drop(queue, local)
        case 6, 7, 8:
            action = "remote"
            let updates = try (0...random.below(2)).map { _ in try update() }
            changes = try local.applyRemoteDocuments(updates, readTime: time)
            var applied = Set<DocumentPath>()
            for update in updates where model.apply(update) { applied.insert(update.path) }
            if applied != Set(changes.map(\.path)) { return "\(updates) changed \(changes)" }
        case 9:
            action = "event"
            let (reported, problem) = try takeEvent(local)
            if let problem { return problem }
            changes = reported
        case 10:
            action = "retry"
            let (reported, problem) = try seeToDeadLetters(local)
            if let problem { return problem }
            changes = reported
        case 11:
            action = "user"
            if let problem = try changeUser(local) { return problem }
            changes = []
        case 12 where random.oneIn(20):
            action = "reopen"
            guard store.directory != nil else { return nil }
            try store.close()
            store = try Store(configuration)
            changes = []
        default:
            action = "write"
            let writes = try (0...random.below(3)).map { _ in try write(before) }
            var written: [LocalChange] = []
            for (write, outcome) in zip(writes, try local.write(writes)) {
                if let problem = check(write, outcome, user, &written) { return problem }
            }
            changes = written
        }
        return try violation(after: action, changes, before, user)
    }

    var time: SnapshotVersion { SnapshotVersion(Timestamp(seconds: clock, nanoseconds: 0)) }

    private func views(of user: UserID) -> [DocumentPath: LocalModel.State?] {
        Dictionary(uniqueKeysWithValues: paths.map { ($0, model.view($0, of: user)) })
    }

    private mutating func write(_ views: [DocumentPath: LocalModel.State?]) throws -> QueuedWrite {
        let versions = paths.compactMap { model.cached[$0]?.version } + [.none]
        var mutations: [Mutation] = []
        for _ in 0...random.below(4) {
            let path = random.pick(paths)
            mutations.append(try random.mutation(at: path, versions: versions))
        }
        if random.oneIn(10) {
            let deep = (0..<25).reduce(Value.null) { value, _ in ["a": value] }
            mutations.append(Mutation(.set(try Record(["a": deep])), at: random.pick(paths)))
        }
        var expectations: [QueuedWrite.Expectation] = []
        if random.oneIn(8) {
            let path = random.pick(paths)
            let view = try store.read { (transaction) throws(LarderError) in
                try transaction.document(at: path, asSeenBy: random.pick(users))
            }
            expectations.append(QueuedWrite.Expectation(path: path, document: view))
        }
        return QueuedWrite(
            mutations: mutations, localWriteTime: random.timestamp(), expectations: expectations)
    }

    /// Takes a write that was made into the model; returns what is wrong with its outcome.
    private mutating func check(
        _ write: QueuedWrite,
        _ outcome: Result<(id: Int64, changes: [LocalChange]), LarderError>, _ user: UserID,
        _ changes: inout [LocalChange]
    ) -> String? {
        let isTooDeep = write.mutations.contains {
            if case .set(let record) = $0.operation { record.depth > 20 } else { false }
        }
        let isStale = !write.expectations.allSatisfy { expectation in
            model.view(expectation.path, of: user).isSame(as: expectation.document)
        }
        switch outcome {
        case .success(let batch):
            if isStale || isTooDeep { return "\(write) was made" }
            let before = views(of: user)
            model.write(write, as: batch.id, of: user)
            for change in batch.changes {
                guard before[change.path]?.isSame(as: change.before) == true,
                    model.view(change.path, of: user).isSame(as: change.after)
                else { return "\(write) reported \(change)" }
            }
            changes += batch.changes
            return Set(batch.changes.map(\.path)) == Set(write.mutations.map(\.path))
                ? nil : "\(write) reported \(batch.changes)"
        case .failure(let error):
            if isStale { return error.kind == .aborted ? nil : "\(write): \(error)" }
            return isTooDeep && error.condition == .tooDeep ? nil : "\(write): \(error)"
        }
    }

    private mutating func acknowledge(
        _ batches: ArraySlice<LocalModel.Batch>, _ local: LocalStore
    ) throws -> [LocalChange] {
        var commits: [(batchID: Int64, response: CommitResponse)] = []
        for batch in batches {
            clock += Int64(random.below(2))
            if random.oneIn(2), let results = try committed(batch) {
                commits.append((batch.id, CommitResponse(commitVersion: time, results: results)))
                continue
            }
            var results: [MutationResult] = []
            for mutation in batch.mutations {
                let values = mutation.transforms.map { _ in random.value(depth: 1) }
                let version = random.oneIn(6) ? random.pick([.none, lower]) : time
                results.append(MutationResult(version: version, transformResults: values))
            }
            commits.append((batch.id, CommitResponse(commitVersion: time, results: results)))
        }
        let changes = try local.acknowledge(commits)
        for (batchID, response) in commits {
            let results = response.results.map {
                MutationResult(
                    version: $0.version.isNone ? response.commitVersion : $0.version,
                    transformResults: $0.transformResults)
            }
            model.acknowledge(batchID, results, of: local.user)
        }
        return changes
    }

    /// The results of a batch that a backend with the cached documents would have; nil if it would
    /// reject the batch.
    private func committed(_ batch: LocalModel.Batch) throws -> [MutationResult]? {
        let builder = try RecordBuilder()
        var documents: [DocumentPath: WorkingDocument] = [:]
        try store.read { (transaction) throws(LarderError) in
            for mutation in batch.mutations {
                documents[mutation.path] = WorkingDocument(
                    try transaction.document(at: mutation.path))
            }
        }
        var results: [MutationResult] = []
        for mutation in batch.mutations {
            guard var document = documents[mutation.path],
                document.satisfies(mutation.precondition)
            else { return nil }
            results.append(try document.commit(mutation, at: time, using: builder))
            documents[mutation.path] = document
        }
        return results
    }

    /// A version of the past.
    private var lower: SnapshotVersion {
        SnapshotVersion(Timestamp(seconds: max(1, clock - 9), nanoseconds: 0))
    }

    mutating func update() throws -> DocumentReading {
        let path = random.pick(paths)
        let versions = [time, time, lower, model.cached[path]?.version ?? time]
        if random.oneIn(4) {
            let version = random.oneIn(4) ? .none : random.pick(versions)
            return DocumentReading(path: path, contents: .absent, version: version)
        }
        let createTime = random.oneIn(2) ? Timestamp(seconds: 1, nanoseconds: 0) : nil
        var fields = random.map(depth: 2)
        if random.oneIn(2) {
            // What is known, or what pending writes will make of it, with another change or without.
            let view = model.view(path, of: random.pick(users))?.fields
            let known = random.oneIn(2) ? model.cached[path]?.fields : view
            if let known, !known.contains(where: { $0.value.type == .serverTimestamp }) {
                let other = fields.first(where: { _ in true })
                fields = known
                if let other, random.oneIn(2) { fields[other.name] = other.value }
            }
        }
        return DocumentReading(
            path: path,
            contents: .found(try Record(fields), createTime: createTime),
            version: random.pick(versions))
    }

    /// What is wrong with the changes of a step, or with what anyone sees after it.
    private func violation(
        after action: String, _ changes: [LocalChange],
        _ before: [DocumentPath: LocalModel.State?], _ user: UserID
    ) throws -> String? {
        for path in paths {
            let mine = changes.filter { $0.path == path }
            let (old, new) = (before[path] ?? nil, model.view(path, of: user))
            if mine.isEmpty {
                if old != new { return "\(action) did not report \(path)" }
                continue
            }
            guard old.isSame(as: mine.first?.before), new.isSame(as: mine.last?.after) else {
                return "\(action) reported \(mine), not \(String(describing: (old, new)))"
            }
        }
        if ["event", "reject", "retry", "reopen"].contains(action) {
            if let problem = try remoteViolation(after: action) { return problem }
        }
        return try store.read { (transaction) throws(LarderError) -> String? in
            for user in users {
                for path in paths {
                    let seen = try transaction.document(at: path, asSeenBy: user)
                    let expected = model.view(path, of: user)
                    if !expected.isSame(as: seen) {
                        return "after \(action) of \(user) \(path) is \(String(describing: seen)), "
                            + "not \(String(describing: expected)); cached is "
                            + "\(String(describing: model.cached[path])), the queue "
                            + "\(model.queues[user, default: []])"
                    }
                }
                let ids = try transaction.mutationBatches(of: user).map(\.id)
                if ids != model.queues[user, default: []].map(\.id) { return "queue \(ids)" }
            }
            return nil
        }
    }
}

extension Record {
    /// How deep its maps and arrays are nested.
    fileprivate var depth: Int { Self.depth(of: .map(fields)) - 1 }

    private static func depth(of value: Value) -> Int {
        switch value {
        case .map(let map): 1 + (map.map { depth(of: $0.value) }.max() ?? 0)
        case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
        default: 0
        }
    }
}

extension Optional<LocalModel.State> {
    /// Whether a document says the same, to the last bit of its fields.
    func isSame(as document: Document?) -> Bool {
        guard let self, let document else { return self == nil && document == nil }
        let state: Document.State =
            self.fields != nil ? .found : self.isUnknown ? .unknown : .absent
        guard document.state == state, document.version == self.version,
            document.createTime == self.createTime, document.hasLocalMutations == self.isLocal,
            document.hasCommittedMutations == self.isCommitted
        else { return false }
        guard let fields = self.fields, let expected = try? Record(fields) else {
            return document.record == nil
        }
        return document.record?.bytes == expected.bytes
    }
}
