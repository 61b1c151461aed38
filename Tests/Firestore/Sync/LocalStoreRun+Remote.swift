import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import OrderedCollections

/// Steps of the remote side: events, targets, refused batches, other users.
extension LocalStoreRun {
    /// Refuses or cancels some batches.
    mutating func drop(_ queue: [LocalModel.Batch], _ local: LocalStore) throws
        -> [LocalChange]
    {
        let dropped = queue.filter { _ in random.oneIn(3) }
        let ids = dropped.map(\.id) + [1 << 50]
        for id in ids { model.remove(id, of: local.user) }
        let isFull = model.deadLetters[local.user, default: []].count > 4
        guard !isFull, random.oneIn(2) else { return try local.cancel(ids) }
        model.deadLetters[local.user, default: []] += dropped
        model.deadLetters[local.user]?.sort { $0.id < $1.id }
        return try local.reject(
            ids, because: LarderError(.permissionDenied, "no"), at: time.timestamp)
    }

    /// Discards a dead letter or tries it again.
    mutating func seeToDeadLetters(_ local: LocalStore) throws -> ([LocalChange], String?) {
        let letters = model.deadLetters[local.user, default: []]
        guard let letter = letters.isEmpty ? nil : random.pick(letters) else { return ([], nil) }
        model.deadLetters[local.user]?.removeAll { $0.id == letter.id }
        guard !random.oneIn(3) else {
            let count = try local.discardDeadLetters([letter.id])
            return ([], count == 1 ? nil : "\(count) dead letters were discarded")
        }
        let again = try local.retryDeadLetter(letter.id, localWriteTime: time.timestamp)
        guard let again else { return ([], "dead letter \(letter.id) is gone") }
        model.write(
            QueuedWrite(mutations: letter.mutations, localWriteTime: time.timestamp),
            as: again.id, of: local.user)
        return (again.changes, nil)
    }

    /// Becomes another user; what is wrong with the changes.
    mutating func changeUser(_ local: LocalStore) throws -> String? {
        let other = random.pick(users)
        let changes = try local.changes(whenUserBecomes: other)
        for path in paths {
            let (old, new) = (model.view(path, of: local.user), model.view(path, of: other))
            let change = changes.first { $0.path == path }
            let isRight =
                change.map { old.isSame(as: $0.before) && new.isSame(as: $0.after) }
                ?? old.isEqual(to: new)
            guard isRight, changes.filter({ $0.path == path }).count < 2 else {
                return "\(local.user) to \(other): \(path) changed \(String(describing: change))"
            }
        }
        return nil
    }

    /// Takes in an event; what is wrong with what it did.
    mutating func takeEvent(_ local: LocalStore) throws -> ([LocalChange], String?) {
        if random.oneIn(8) || model.targets.isEmpty { try replaceTarget(local) }
        var event = RemoteEvent(version: random.oneIn(6) ? .none : time)
        for _ in 0..<random.below(3) {
            let update = try update()
            event.documents[update.path] = update
        }
        for id in model.targets.keys.sorted() + [999] where !random.oneIn(3) {
            event.targets[id] = RemoteTargetChange(
                resumeToken: random.oneIn(3) ? [] : [UInt8(random.below(256))],
                added: somePaths(), modified: somePaths(), removed: somePaths())
            if random.oneIn(6) { event.mismatches[id] = .existenceFilterMismatch }
        }
        let active = model.targets.mapValues(\.known)
        let applied = try local.apply(event, to: active)
        var counted = Set<DocumentPath>()
        for update in event.documents.values where model.apply(update) {
            counted.insert(update.path)
        }
        model.apply(event)
        guard counted == Set(applied.changes.map(\.path)) else {
            return ([], "\(event.documents) changed \(applied.changes)")
        }
        guard applied.targets == model.targets.mapValues(\.known) else {
            return ([], "\(event) made of targets \(applied.targets)")
        }
        if random.oneIn(2), let id = model.targets.keys.min() { model.noteLimboFree(id) }
        return (applied.changes, nil)
    }

    /// Releases or forgets a target, and asks for another.
    private mutating func replaceTarget(_ local: LocalStore) throws {
        if model.targets.count > 2,
            let id = model.targets.keys.sorted().randomElement(using: &random)
        {
            if random.oneIn(2), let target = model.targets[id] {
                try local.releaseTarget(target.known)
                model.targets[id]?.stored = target.known
            } else {
                try local.removeTarget(id)
                model.targets[id] = nil
            }
        }
        let query = Query(
            .collection(try CollectionPath("c")), limit: .first(1 + random.below(4)))
        let data = try local.allocateTarget(query.target)
        if model.targets[data.id] == nil {
            model.targets[data.id] = LocalModel.Target(known: data, stored: data)
        }
    }

    private mutating func somePaths() -> Set<DocumentPath> {
        random.oneIn(2) ? [] : Set(paths.filter { _ in random.oneIn(3) })
    }

    /// What is wrong with targets or dead letters.
    func remoteViolation(after action: String) throws -> String? {
        let local = LocalStore(
            store: store, user: .unauthenticated,
            databaseID: DatabaseID(project: "p", database: "d"))
        guard try local.lastRemoteSnapshotVersion() == model.lastVersion else {
            return "after \(action) the last snapshot is wrong"
        }
        for (id, target) in model.targets {
            guard try local.targetData(id) == target.stored,
                try local.remoteKeys(of: id) == TreeSet(target.documents)
            else { return "after \(action) target \(id) is not \(target)" }
        }
        for user in users {
            let letters = model.deadLetters[user, default: []]
            let kept = try local.as(user).deadLetters()
            guard kept.map(\.batchID) == letters.map(\.id),
                kept.map(\.mutations) == letters.map(\.mutations)
            else { return "after \(action) of \(user) the dead letters are \(kept)" }
        }
        return nil
    }
}

extension LocalModel {
    /// 4.4, of targets.
    mutating func apply(_ event: RemoteEvent) {
        for (id, target) in targets {
            let change = event.targets[id] ?? RemoteTargetChange()
            var target = target
            target.documents = target.documents.subtracting(change.removed).union(change.added)
            if event.mismatches[id] != nil {
                target.known.resumeToken = []
                target.known.snapshotVersion = .none
                target.known.limboFreeVersion = .none
            } else if !change.resumeToken.isEmpty {
                target.known.resumeToken = change.resumeToken
                target.known.snapshotVersion = event.version
            }
            let isTold = event.targets[id] != nil || event.mismatches[id] != nil
            let hasDocuments =
                !(change.added.isEmpty && change.modified.isEmpty
                && change.removed.isEmpty)
            if isTold, hasDocuments || target.isOutdated { target.stored = target.known }
            targets[id] = target
        }
        lastVersion = max(lastVersion, event.version)
    }

    /// 4.5.
    mutating func noteLimboFree(_ id: Int32) {
        guard var target = targets[id] else { return }
        target.known.limboFreeVersion = target.known.snapshotVersion
        targets[id] = target
    }
}

extension LocalModel.Target {
    /// Whether what is stored lacks a token, has one that is no good, or is 5 minutes old.
    fileprivate var isOutdated: Bool {
        func isOld(_ version: KeyPath<TargetData, SnapshotVersion>) -> Bool {
            known[keyPath: version].timestamp.seconds
                - stored[keyPath: version].timestamp.seconds >= 300
        }
        return stored.resumeToken.isEmpty || known.resumeToken.isEmpty
            || isOld(\.snapshotVersion) || isOld(\.limboFreeVersion)
    }
}

extension LocalModel.State? {
    /// Whether a document says the same in both states; when it was made is no part of that.
    fileprivate func isEqual(to other: LocalModel.State?) -> Bool {
        guard var left = self, var right = other else { return self == nil && other == nil }
        left.createTime = nil
        right.createTime = nil
        return left == right
    }
}
