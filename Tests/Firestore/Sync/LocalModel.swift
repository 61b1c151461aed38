import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import LarderTestSupport

/// The rules of pending writes, said as plainly as they can be: typed maps, and every batch
/// applied again for every look.
struct LocalModel {
    /// A document as the cache or a user has it.
    struct State: Equatable {
        /// The fields of a document that exists; nil for another.
        var fields: MapValue?
        /// Without fields: whether it exists all the same.
        var isUnknown = false
        var version = SnapshotVersion.none
        var createTime: Timestamp?
        var isCommitted = false
        var isLocal = false
    }

    /// A number that an increment counts from.
    struct Base {
        let path: DocumentPath
        let field: FieldPath
        let value: Value
    }

    struct Batch {
        let id: Int64
        let time: Timestamp
        let mutations: [Mutation]
        let bases: [Base]
        /// What the cache had of each document.
        let versions: [DocumentPath: SnapshotVersion]
    }

    /// A target, as the engine and as the store know it.
    struct Target {
        var known: TargetData
        var stored: TargetData
        var documents: Set<DocumentPath> = []
    }

    var cached: [DocumentPath: State] = [:]
    var queues: [UserID: [Batch]] = [:]
    var deadLetters: [UserID: [Batch]] = [:]
    var targets: [Int32: Target] = [:]
    var lastVersion = SnapshotVersion.none

    /// The local view: the cached document with every batch applied in order.
    func view(_ path: DocumentPath, of user: UserID) -> State? {
        var state = cached[path]
        for batch in queues[user, default: []] { state = applying(batch, to: state, at: path) }
        return state
    }

    mutating func write(_ write: QueuedWrite, as id: Int64, of user: UserID) {
        var bases: [Base] = []
        for mutation in write.mutations {
            switch mutation.precondition {
            case .exists(false), .updateTime: continue
            case .none, .exists(true): break
            }
            let fields = view(mutation.path, of: user)?.fields
            for transform in mutation.transforms {
                guard case .increment(let operand) = transform.operation else { continue }
                // Of doubles only -0.0 changes none that is added to it.
                let nothing: Value = operand.type == .double ? -0.0 : 0
                let value = fields?.value(at: transform.path)
                let number = value?.type == .integer || value?.type == .double ? value : nil
                bases.append(
                    Base(path: mutation.path, field: transform.path, value: number ?? nothing))
            }
        }
        queues[user, default: []].append(
            Batch(
                id: id, time: write.localWriteTime, mutations: write.mutations, bases: bases,
                versions: cached.mapValues(\.version)))
    }

    mutating func remove(_ id: Int64, of user: UserID) {
        queues[user, default: []].removeAll { $0.id == id }
    }

    /// A base counts wherever the document exists and the cache has heard of it since, before
    /// the batch's mutations.
    private func applying(_ batch: Batch, to state: State?, at path: DocumentPath) -> State? {
        var state = state
        let isMoved = batch.versions[path] ?? .none != cached[path]?.version ?? .none
        for base in batch.bases where isMoved && base.path == path && state?.fields != nil {
            state?.fields?.put(base.value, at: base.field)
            state?.isLocal = true
            state?.version = .none
        }
        for mutation in batch.mutations where mutation.path == path {
            guard Self.holds(mutation.precondition, of: state) else { continue }
            state = State(
                fields: mutation.modelFields(over: state?.fields) { transform, old in
                    transform.operation.modelEstimate(old, batch.time)
                }, isLocal: true)
        }
        return state
    }

    static func holds(_ precondition: Precondition, of state: State?) -> Bool {
        switch precondition {
        case .none: true
        case .exists(let exists): exists == (state?.fields != nil)
        case .updateTime(let version): state?.fields != nil && state?.version == version
        }
    }
}

extension LocalModel {
    /// Only what is older than the last mutation's version changes.
    mutating func acknowledge(_ batchID: Int64, _ results: [MutationResult], of user: UserID) {
        guard let batch = queues[user]?.first(where: { $0.id == batchID }) else {
            return
        }
        remove(batch.id, of: user)
        for path in Set(batch.mutations.map(\.path)) {
            let pairs = zip(batch.mutations, results).filter { $0.0.path == path }
            guard let last = pairs.last?.1.version,
                cached[path]?.version ?? .none < last
            else { continue }
            for (mutation, result) in pairs { apply(mutation, result) }
        }
    }

    private mutating func apply(_ mutation: Mutation, _ result: MutationResult) {
        let before = cached[mutation.path]
        var after = State(version: result.version, isCommitted: true)
        var isKnown = true
        if case .patch = mutation.operation {
            isKnown = Self.holds(mutation.precondition, of: before)
        }
        after.isUnknown = !isKnown
        if isKnown {
            var results = result.transformResults[...]
            after.fields = mutation.modelFields(over: before?.fields) { transform, old in
                let value = results.removeFirst()
                switch transform.operation {
                case .arrayUnion, .arrayRemove:
                    return transform.operation.modelEstimate(old, .epoch)
                default: return value
                }
            }
        }
        if after.fields != nil, mutation.precondition == .exists(false) {
            after.createTime = result.version.timestamp
        } else if before?.fields != nil, after.fields != nil {
            after.createTime = before?.createTime
        }
        cached[mutation.path] = after
    }

    /// Takes what a backend says of a document, by 4.4.3; false where the update does not count.
    mutating func apply(_ update: DocumentReading) -> Bool {
        let known = cached[update.path]
        var new = State(version: update.version)
        var forgets = false
        switch update.contents {
        case .found(let record, let createTime):
            new.fields = record.fields
            new.createTime = createTime
        case .absent: forgets = update.version.isNone
        }
        if let known, !forgets, update.version < known.version { return false }
        if let known, !forgets, update.version == known.version, !known.isCommitted {
            return false
        }
        cached[update.path] = forgets ? nil : new
        return true
    }
}
