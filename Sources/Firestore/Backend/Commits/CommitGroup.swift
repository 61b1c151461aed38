import LarderDocumentStore
import LarderModel
import LarderRemote

/// A group of commits that are prepared in order, each on top of its predecessors, and written
/// together.
struct CommitGroup {
    private struct Entry {
        let path: DocumentPath
        var document: WorkingDocument
        /// The resulting document; nil if nothing is stored.
        var state: Document?
    }

    /// The documents after the commits so far.
    private var entries: [DocumentPath: Entry] = [:]
    /// The changes of the commits, in order.
    private(set) var changes: [CommittedChange] = []
    /// The answers of the commits that have a name.
    private(set) var answers = MadeCommits.Answers()
    /// The clock after the last commit.
    private(set) var clock: CommitClock
    private let store: Store
    private let floors: Floors
    private let builder: RecordBuilder
    private let database: DatabaseID
    /// The documents and queries whose changes caused transactions to be refused.
    var changedReads: [LockKey] = []
    /// Whether there is nothing to write.
    private(set) var isEmpty = true

    /// Creates an empty group of commits after a history.
    init(store: Store, after history: RunHistory, builder: RecordBuilder, database: DatabaseID) {
        self.store = store
        clock = CommitClock(after: history.version)
        floors = history.floors
        self.builder = builder
        self.database = database
    }

    /// Adds a commit, whose changes are visible to later ones.
    ///
    /// - Throws: `notFound`, `alreadyExists` or `failedPrecondition` for a failed precondition;
    ///   `aborted` if something that was read has changed; `permissionDenied`; `invalidArgument`
    ///   for invalid data. The group is unchanged after an error.
    mutating func add(_ request: CommitRequest, at now: Timestamp)
        throws(LarderError) -> CommitResult
    {
        try request.checkAcceptable(maxDocumentBytes: store.maxDocumentBytes)
        try load(request.mutations.map(\.path) + (request.reads.map { Array($0.paths) } ?? []))
        if let reads = request.reads {
            try reads.verify(
                { path in
                    entries[path]?.state?.exists == true ? entries[path]?.document.version : nil
                }, &changedReads)
        }
        var clock = clock
        let version = clock.advance(to: now)
        var changed: [DocumentPath: Entry] = [:]
        var order: [DocumentPath] = []
        var results: [MutationResult] = []
        for mutation in request.mutations {
            let earlier = changed[mutation.path]
            guard var entry = earlier ?? entries[mutation.path] else { continue }
            // The first write of the document has verified the update time.
            let isVerified = earlier != nil && mutation.precondition.isUpdateTime
            results.append(
                try apply(
                    isVerified ? mutation.withoutPrecondition : mutation, to: &entry, at: version,
                    request.rulesCheck))
            if changed.updateValue(entry, forKey: mutation.path) == nil {
                order.append(mutation.path)
            }
        }
        for path in order {
            guard let entry = changed[path], let after = entry.state else { continue }
            let before = entries[path]?.state
            guard after.version == version else { continue }
            changes.append(CommittedChange(path: path, before: before, after: after))
            entries[path] = entry
        }
        self.clock = clock
        isEmpty = false
        let response = CommitResponse(commitVersion: version, results: results)
        if let name = request.name { answers[name.client, default: [:]][name.write] = response }
        return CommitResult(
            response: response,
            documents: order.compactMap { changed[$0]?.state?.served(above: floors.last) })
    }

    /// True if the group has a commit of this name.
    func hasCommit(named name: WriteToken) -> Bool {
        answers[name.client]?[name.write] != nil
    }

    /// Writes the changes.
    func write(to transaction: inout WriteTransaction) throws(LarderError) {
        for path in Set(changes.lazy.map(\.path)).sorted() {
            guard let document = entries[path]?.document else { continue }
            if let record = document.record {
                try transaction.put(
                    record, at: path, version: document.version, createTime: document.createTime)
            } else {
                try transaction.putAbsent(at: path, version: document.version)
            }
        }
    }

    private mutating func load(_ paths: [DocumentPath]) throws(LarderError) {
        let missing = Set(paths.filter { entries[$0] == nil })
        guard !missing.isEmpty else { return }
        let loaded = try store.read { (transaction) throws(LarderError) in
            try missing.map { path throws(LarderError) in
                let document = try transaction.document(at: path)
                return Entry(path: path, document: WorkingDocument(document), state: document)
            }
        }
        for entry in loaded { entries[entry.path] = entry }
    }

    private func apply(
        _ mutation: Mutation, to entry: inout Entry, at version: SnapshotVersion,
        _ rulesCheck: RulesCheck?
    ) throws(LarderError) -> MutationResult {
        let before = entry
        let mutation = mutation.expectingStored(before.document.version, floors)
        let result = try entry.document.commit(mutation, at: version, using: builder)
        // Checked first: without permission, errors must not reveal the document's state.
        try rulesCheck?.require(
            mutation.asked(of: before.document.isFound),
            existing: before.document.isFound ? before.state : nil,
            written: entry.document.record)
        try before.document.check(mutation, at: version, in: database, floors)
        if let record = entry.document.record {
            try record.checkLimits(maxDepth: store.maxDepth, maxBytes: store.maxDocumentBytes)
        }
        entry.state = entry.document.document(at: entry.path, readTime: version)
        // A document that has not changed has its stored version.
        return MutationResult(
            version: max(result.version, floors.last), transformResults: result.transformResults)
    }
}

extension Mutation {
    fileprivate var withoutPrecondition: Mutation {
        Mutation(operation, at: path, transforms: transforms)
    }

    /// The mutation with a document's stored version as its precondition in place of one that was
    /// served for it.
    fileprivate func expectingStored(_ stored: SnapshotVersion, _ floors: Floors) -> Mutation {
        guard case .updateTime(let expected) = precondition,
            floors.haveServed(expected, for: stored)
        else { return self }
        return Mutation(
            operation, at: path, precondition: .updateTime(stored), transforms: transforms)
    }

    fileprivate func asked(of exists: Bool) -> Backend.Request.Operation {
        switch operation {
        case .set, .patch: exists ? .update(path) : .create(path)
        case .delete: .delete(path)
        case .verify: .get(path)
        }
    }
}

extension WorkingDocument {
    /// Throws unless a mutation's precondition holds.
    ///
    /// The messages are Firestore's, because applications display and match them.
    fileprivate func check(
        _ mutation: Mutation, at now: SnapshotVersion, in database: DatabaseID, _ floors: Floors
    ) throws(LarderError) {
        guard !satisfies(mutation.precondition) else { return }
        let name = ResourceName(database: database, document: mutation.path)
        switch mutation.precondition {
        case .none: return
        case .exists(true):
            throw LarderError(.notFound, "No document to update: \(name)")
        case .exists(false):
            throw LarderError(.alreadyExists, "Document already exists: \(name)")
        case .updateTime(let expected) where expected > now:
            throw .invalidArgument("the required base version (\(expected)) is in the future")
        case .updateTime(let expected):
            throw LarderError(
                .failedPrecondition,
                "the stored version (\(max(version, floors.last))) of \(name) does not match the required base "
                    + "version (\(expected))")
        }
    }
}

struct CommitResult {
    let response: CommitResponse
    let documents: [Document]
}

/// The change of a document by commits.
struct CommittedChange: Sendable {
    let path: DocumentPath
    /// The document before; nil if there was neither a document nor a tombstone.
    let before: Document?
    let after: Document

    /// The fields before and after, as far as the document existed.
    var states: [Record] { [before?.record, after.record].compactMap { $0 } }
}

/// Generates the versions of commits: the clock's time, made strictly increasing.
struct CommitClock: Sendable {
    /// The last version; none before the first.
    private(set) var last: SnapshotVersion

    init(after last: SnapshotVersion) {
        self.last = last
    }

    /// The version of the next commit, in whole microseconds.
    mutating func advance(to now: Timestamp) -> SnapshotVersion {
        last = max(SnapshotVersion(now.truncatedToMicroseconds), last.successor)
        return last
    }
}

extension SnapshotVersion {
    /// The microseconds since the Unix epoch.
    var microseconds: Int64 {
        timestamp.seconds * 1_000_000 + Int64(timestamp.nanoseconds / 1_000)
    }

    /// The version a microsecond later.
    var successor: SnapshotVersion {
        let nanoseconds = timestamp.nanoseconds + 1000
        let carry: Int32 = nanoseconds >= 1_000_000_000 ? 1 : 0
        return SnapshotVersion(
            Timestamp(
                unchecked: timestamp.seconds + Int64(carry), nanoseconds - carry * 1_000_000_000))
    }
}

extension CommitGroup {
    /// The size of the pages of a store's tables that a commit of any size replaces, about.
    static let baseBytes: Int64 = 32 << 10
    /// That of the pages that each changed document replaces.
    private static let changeBytes: Int64 = 8 << 10

    /// The approximate size of what the group replaces in the store.
    var replacedBytes: Int64 {
        changes.reduce(Self.baseBytes) { size, change in
            size + Self.changeBytes + Int64(change.before?.record?.memoryBytes ?? 0)
        }
    }
}
