import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import OrderedCollections

/// What a ``WatchAggregator`` does, in its plainest form: everything that was received for a
/// target is kept and gone through again for each event.
struct WatchModel {
    /// The changes received for one document of one target.
    private struct Told {
        var path: DocumentPath
        var target: Int32
        var isIn: Bool
        var reading: DocumentReading?
    }

    private struct Target {
        var outstanding = 0
        var isCurrent = false
        var token: [UInt8] = []
        var isDirty = true
        /// What counts for the next change, oldest first.
        var told: [Told] = []
    }

    let databaseID: DatabaseID
    private var targets: [Int32: Target] = [:]
    /// All that was told since the last event.
    private var told: [Told] = []
    private var mismatches: [Int32: WatchTarget.Purpose] = [:]

    init(databaseID: DatabaseID) {
        self.databaseID = databaseID
    }

    mutating func recordPendingRequest(_ id: Int32) {
        targets[id, default: Target()].outstanding += 1
    }

    mutating func remove(_ id: Int32) {
        targets[id] = nil
    }

    private func isActive(_ id: Int32, _ world: WatchWorld) -> Bool {
        targets[id]?.outstanding == 0 && world.targets[id] != nil
    }

    mutating func handle(_ response: WatchResponse, _ world: WatchWorld) {
        switch response {
        case .targets(let change):
            let ids =
                change.targetIDs.isEmpty
                ? targets.keys.filter { isActive($0, world) } : change.targetIDs
            for id in ids where targets[id] != nil { handle(change, id, world) }
        case .document(let reading, let ids, let removed):
            for id in ids { tell(reading.path, id, isIn: reading.exists, reading, world) }
            for id in removed { tell(reading.path, id, isIn: false, reading, world) }
        case .removed(let path, let removed):
            for id in removed { tell(path, id, isIn: false, nil, world) }
        case .unreadable: break
        case .existenceFilter(let id, let count, let unchanged):
            filter(id, count, unchanged, world)
        }
    }

    private mutating func handle(_ change: TargetChange, _ id: Int32, _ world: WatchWorld) {
        var target = targets[id] ?? Target()
        switch change.kind {
        case .added:
            guard target.outstanding > 0 else { return }
            target.outstanding -= 1
            if target.outstanding == 0 {
                target.told = []
                target.isDirty = false
            }
        case .removed:
            target.outstanding -= 1
            targets[id] = target.outstanding > 0 ? target : nil
            return
        case .none:
            guard isActive(id, world) else { return }
        case .current:
            guard isActive(id, world) else { return }
            target.isCurrent = true
            target.isDirty = true
        case .reset:
            guard isActive(id, world) else { return }
            reset(id, world)
            target = targets[id] ?? Target()
        }
        if !change.resumeToken.isEmpty {
            target.token = change.resumeToken
            target.isDirty = true
        }
        targets[id] = target
    }

    private mutating func reset(_ id: Int32, _ world: WatchWorld) {
        targets[id] = Target()
        for path in world.remoteKeys(of: id) { tell(path, id, isIn: false, nil, world) }
    }

    private mutating func tell(
        _ path: DocumentPath, _ id: Int32, isIn: Bool, _ reading: DocumentReading?,
        _ world: WatchWorld
    ) {
        guard isActive(id, world) else { return }
        let new = Told(path: path, target: id, isIn: isIn, reading: reading)
        targets[id]?.told.append(new)
        targets[id]?.isDirty = true
        told.append(new)
    }

    /// The documents in a target after all changes received for it.
    private func documents(_ id: Int32, _ world: WatchWorld) -> Set<DocumentPath> {
        var found = Set(world.remoteKeys(of: id))
        for item in targets[id]?.told ?? [] {
            if item.isIn { found.insert(item.path) } else { found.remove(item.path) }
        }
        return found
    }

    private mutating func filter(
        _ id: Int32, _ count: Int, _ unchanged: BloomFilterBits?, _ world: WatchWorld
    ) {
        guard isActive(id, world), let target = world.targets[id] else { return }
        if case .document(let path) = target.target.source {
            let gone = DocumentReading(path: path, contents: .absent, version: .none)
            if count == 0 { tell(path, id, isIn: false, gone, world) }
            return
        }
        guard documents(id, world).count != count else { return }
        var purpose = WatchTarget.Purpose.existenceFilterMismatch
        if let bits = unchanged, let filter = try? BloomFilter(bits), !bits.bitmap.isEmpty {
            for path in world.remoteKeys(of: id)
            where !filter.contains("\(databaseID)/documents/\(path)") {
                tell(path, id, isIn: false, nil, world)
            }
            if documents(id, world).count == count { return }
            purpose = .existenceFilterMismatchBloom
        }
        reset(id, world)
        mismatches[id] = purpose
    }

    mutating func makeEvent(at version: SnapshotVersion, _ world: WatchWorld) -> RemoteEvent {
        for id in targets.keys {
            guard targets[id]?.isCurrent == true,
                case .document(let path)? = world.targets[id]?.target.source
            else { continue }
            if let own = lastReading(of: path, id), !own.exists {
                // What other targets told after that does not count, but for those of the document.
                let others = world.targets.keys.filter { other in
                    if case .document(path)? = world.targets[other]?.target.source {
                        true
                    } else {
                        false
                    }
                }
                guard
                    told.last(where: { $0.path == path && $0.reading != nil })?.reading?.exists
                        == true,
                    !others.contains(where: { lastReading(of: path, $0)?.exists == true })
                else { continue }
            } else if lastReading(of: path, id) != nil || world.remoteKeys(of: id).contains(path) {
                continue
            }
            let missing = DocumentReading(path: path, contents: .absent, version: version)
            tell(path, id, isIn: false, missing, world)
        }
        var event = RemoteEvent(version: version, mismatches: mismatches)
        for (id, target) in targets where target.isDirty && isActive(id, world) {
            event.targets[id] = change(of: target, id, world)
            targets[id]?.isDirty = false
            targets[id]?.told = []
        }
        for item in told {
            if let reading = item.reading { event.documents[item.path] = reading }
        }
        event.resolvedLimboDocuments = Set(event.documents.keys).filter { path in
            told.allSatisfy { item in
                item.path != path || !isActive(item.target, world)
                    || world.targets[item.target]?.purpose == .limboResolution
            }
        }
        told = []
        mismatches = [:]
        return event
    }

    /// What a target told last of a document, if it had contents or was its deletion.
    private func lastReading(of path: DocumentPath, _ id: Int32) -> DocumentReading? {
        told.last { $0.target == id && $0.path == path }?.reading
    }

    private func change(
        of target: Target, _ id: Int32, _ world: WatchWorld
    ) -> RemoteTargetChange {
        let (before, after) = (Set(world.remoteKeys(of: id)), documents(id, world))
        return RemoteTargetChange(
            resumeToken: target.token, isCurrent: target.isCurrent,
            added: after.subtracting(before),
            modified: Set(target.told.map(\.path)).intersection(before).intersection(after),
            removed: before.subtracting(after))
    }
}
