import HashTreeCollections
package import LarderModel
package import LarderRemote
import OrderedCollections

/// Gathers what a watch stream tells into events, each of them all that there is up to a snapshot.
///
/// A machine of one stream: a new stream needs a new one. Targets that no request was noted for,
/// that wait for an answer or that the owner does not know are not listened to. Costs are those
/// of what changed, and of the documents that are watched one by one.
package struct WatchAggregator: Sendable {
    /// The hash of the beginning of every document's name.
    let documentNames: MD5
    private var states: [Int32: WatchedTargetState] = [:]
    /// Targets that the next event says something of, as far as they are active by then.
    private var changedTargets: Set<Int32> = []
    /// Targets of one document that are current.
    private var currentDocumentTargets: Set<Int32> = []
    /// Targets of one document that have told since the last event what it is.
    private var answeredDocumentTargets: Set<Int32> = []
    private var documents: OrderedDictionary<DocumentPath, DocumentReading> = [:]
    /// Which targets have told of which document, and be it that it left them.
    private var targetsOfDocuments: [DocumentPath: TargetIDSet] = [:]
    var mismatches: [Int32: WatchTarget.Purpose] = [:]

    /// Gathers what a stream tells of a database.
    package init(databaseID: DatabaseID) {
        documentNames = MD5("\(databaseID)/documents/")
    }

    /// Notes that the stream was asked to watch a target, or to watch it no longer.
    package mutating func notePendingRequest(_ targetID: Int32) {
        states[targetID, default: WatchedTargetState()].outstanding += 1
        changedTargets.insert(targetID)
    }

    /// Takes a response; removals for a reason are the owner's to handle, with ``remove(_:)``.
    ///
    /// - Returns: what was wrong with the response, where a part of it was passed over for that.
    @discardableResult
    package mutating func handle(
        _ response: WatchResponse, knowing knowledge: some WatchKnowledge
    ) -> LarderError? {
        switch response {
        case .targets(let change):
            handle(change, knowledge)
        case .document(let reading, let targetIDs, let removedTargetIDs):
            for id in targetIDs {
                if reading.exists {
                    add(reading, to: id, knowledge)
                } else {
                    remove(reading.path, reading, from: id, knowledge)
                }
            }
            for id in removedTargetIDs {
                remove(reading.path, reading, from: id, knowledge)
            }
        case .removed(let path, let removedTargetIDs):
            for id in removedTargetIDs {
                remove(path, nil, from: id, knowledge)
            }
        case .existenceFilter(let id, let count, let unchanged):
            return handleFilter(of: id, count, unchanged, knowledge)
        }
        return nil
    }

    /// Forgets a target.
    package mutating func remove(_ targetID: Int32) {
        states[targetID] = nil
        changedTargets.remove(targetID)
        currentDocumentTargets.remove(targetID)
    }

    /// Makes the event of a snapshot out of what was told since the last one.
    package mutating func makeEvent(
        at version: SnapshotVersion, knowing knowledge: some WatchKnowledge
    ) -> RemoteEvent {
        removeMissingDocuments(at: version, knowledge)
        var event = RemoteEvent(version: version)
        event.targets = takeTargetChanges(knowledge)
        event.resolvedLimboDocuments = limboDocuments(knowledge)
        swap(&event.documents, &documents)
        swap(&event.mismatches, &mismatches)
        targetsOfDocuments = [:]
        answeredDocumentTargets = []
        return event
    }
}

// MARK: - Targets

extension WatchAggregator {
    /// A target with its state, when what is told of it counts.
    func activeTarget(_ id: Int32, _ knowledge: some WatchKnowledge) -> TargetData? {
        guard let index = states.index(forKey: id), states.values[index].outstanding == 0 else {
            return nil
        }
        return knowledge.target(id)
    }

    /// By how much more documents have come into a target than left it.
    func growth(of id: Int32) -> Int {
        states[id]?.growth ?? 0
    }

    private mutating func handle(_ change: TargetChange, _ knowledge: some WatchKnowledge) {
        guard change.targetIDs.isEmpty else {
            for id in change.targetIDs { handle(change, id, knowledge) }
            return
        }
        guard change.kind == .none else {
            for id in Array(states.keys) where states[id]?.outstanding == 0 {
                handle(change, id, knowledge)
            }
            return
        }
        if !change.resumeToken.isEmpty { resumeAll(from: change.resumeToken, knowledge) }
    }

    /// Gives a token to all targets that are listened to; their states are changed where they lie.
    private mutating func resumeAll(from token: [UInt8], _ knowledge: some WatchKnowledge) {
        var index = states.startIndex
        while index != states.endIndex {
            let id = states.keys[index]
            if states.values[index].outstanding == 0, knowledge.isWatched(id) {
                if !states.values[index].hasChanges { changedTargets.insert(id) }
                states.values[index].resume(from: token)
            }
            states.formIndex(after: &index)
        }
    }

    private mutating func handle(
        _ change: TargetChange, _ id: Int32, _ knowledge: some WatchKnowledge
    ) {
        switch change.kind {
        case .added:
            update(id) { $0.added(resumeToken: change.resumeToken) }
        case .removed:
            update(id) { $0.outstanding -= 1 }
            if let state = states[id], state.outstanding <= 0 { remove(id) }
        case .none, .current, .reset:
            guard let target = activeTarget(id, knowledge) else { return }
            if change.kind == .reset { reset(id, knowledge) }
            if change.kind == .current {
                if target.document != nil { currentDocumentTargets.insert(id) }
                update(id) { $0.markCurrent() }
            }
            update(id) { $0.resume(from: change.resumeToken) }
        }
    }

    /// Takes all documents out of a target, of which everything is told again.
    mutating func reset(_ id: Int32, _ knowledge: some WatchKnowledge) {
        currentDocumentTargets.remove(id)
        update(id) { $0 = WatchedTargetState() }
        for path in knowledge.remoteKeys(of: id) {
            remove(path, nil, from: id, knowledge)
        }
    }

    /// Changes a target's state; every one with changes is among ``changedTargets``.
    private mutating func update(_ id: Int32, _ body: (inout WatchedTargetState) -> Void) {
        guard let index = states.index(forKey: id) else { return }
        let hadChanges = states.values[index].hasChanges
        body(&states.values[index])
        if !hadChanges, states.values[index].hasChanges { changedTargets.insert(id) }
    }

    private mutating func takeTargetChanges(
        _ knowledge: some WatchKnowledge
    ) -> [Int32: RemoteTargetChange] {
        var changes: [Int32: RemoteTargetChange] = [:]
        var waiting: Set<Int32> = []
        changes.reserveCapacity(changedTargets.count)
        for id in changedTargets {
            guard let index = states.index(forKey: id), states.values[index].hasChanges else {
                continue
            }
            if states.values[index].outstanding == 0, knowledge.isWatched(id) {
                changes[id] = states.values[index].takeChange()
            } else {
                waiting.insert(id)
            }
        }
        changedTargets.removeAll(keepingCapacity: true)
        changedTargets.formUnion(waiting)
        return changes
    }
}

// MARK: - Documents

extension WatchAggregator {
    private mutating func add(
        _ reading: DocumentReading, to id: Int32, _ knowledge: some WatchKnowledge
    ) {
        guard let target = activeTarget(id, knowledge) else { return }
        let isKnown = knowledge.isRemoteKey(reading.path, of: id)
        update(id) { $0.add(reading.path, isKnown: isKnown) }
        note(reading.path, reading, of: target)
    }

    /// Takes a document out of a target.
    ///
    /// - Parameter reading: what the document is now, where that was said.
    mutating func remove(
        _ path: DocumentPath, _ reading: DocumentReading?, from id: Int32,
        _ knowledge: some WatchKnowledge
    ) {
        guard let target = activeTarget(id, knowledge) else { return }
        let isKnown = knowledge.isRemoteKey(path, of: id)
        update(id) { $0.remove(path, isKnown: isKnown) }
        note(path, reading, of: target)
    }

    private mutating func note(
        _ path: DocumentPath, _ reading: DocumentReading?, of target: TargetData
    ) {
        targetsOfDocuments[path, default: TargetIDSet(target.id)].insert(target.id)
        guard let reading else {
            // It is gone, whatever was told of it before.
            if target.document == path { answeredDocumentTargets.remove(target.id) }
            return
        }
        documents[path] = reading
        if target.document == path { answeredDocumentTargets.insert(target.id) }
    }

    /// Takes a document for missing where all that there was of its target has been told, and
    /// nothing of the document.
    ///
    /// Only what the target itself told counts: another one may know the document by an older
    /// snapshot.
    private mutating func removeMissingDocuments(
        at version: SnapshotVersion, _ knowledge: some WatchKnowledge
    ) {
        for id in currentDocumentTargets.subtracting(answeredDocumentTargets) {
            guard let path = activeTarget(id, knowledge)?.document,
                !knowledge.isRemoteKey(path, of: id)
            else { continue }
            let missing = DocumentReading(path: path, contents: .absent, version: version)
            remove(path, missing, from: id, knowledge)
        }
    }

    /// Changed documents that no target for anything but limbo has told of.
    private func limboDocuments(_ knowledge: some WatchKnowledge) -> Set<DocumentPath> {
        var isForLimbo: [Int32: Bool] = [:]
        var found: Set<DocumentPath> = []
        for (path, ids) in targetsOfDocuments where documents[path] != nil {
            let isResolved = ids.allSatisfy { id in
                if let known = isForLimbo[id] { return known }
                let purpose = activeTarget(id, knowledge)?.purpose ?? .limboResolution
                isForLimbo[id] = purpose == .limboResolution
                return purpose == .limboResolution
            }
            if isResolved { found.insert(path) }
        }
        return found
    }
}
