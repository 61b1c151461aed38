package import HashTreeCollections
package import LarderModel
package import LarderRemote
import OrderedCollections

/// Aggregates the responses of a watch stream into events, one per snapshot.
///
/// A machine for one stream: a new stream needs a new one. Responses are ignored for targets
/// without a recorded request, with an unanswered one, or unknown to the owner. Costs are linear
/// in the changes, and in the documents that are watched one by one.
package struct WatchAggregator: Sendable {
    /// The hash of the beginning of every document's name.
    let documentNames: MD5
    private var states: [Int32: WatchedTargetState] = [:]
    /// Targets with changes for the next event, if they are active by then.
    private var changedTargets: Set<Int32> = []
    /// Current targets of a single document.
    private var currentDocumentTargets: Set<Int32> = []
    /// Targets of a single document whose last report since the last event has its contents.
    private var answeredDocumentTargets: Set<Int32> = []
    /// Targets of a single document whose last report since the last event is its deletion.
    private var deletedDocumentTargets: Set<Int32> = []
    private var documents: OrderedDictionary<DocumentPath, DocumentReading> = [:]
    /// The targets that reported each document, including targets that it has left.
    private var targetsOfDocuments: [DocumentPath: TargetIDSet] = [:]
    var mismatches: [Int32: WatchTarget.Purpose] = [:]

    /// Creates an aggregator for a database's stream.
    package init(databaseID: DatabaseID) {
        documentNames = MD5("\(databaseID)/documents/")
    }

    /// Records that the stream was asked to watch a target, or to stop watching it.
    package mutating func recordPendingRequest(_ targetID: Int32) {
        states[targetID, default: WatchedTargetState()].outstanding += 1
        changedTargets.insert(targetID)
    }

    /// Aggregates a response; the owner handles removals with an error, and unreadable documents, by
    /// ``remove(_:)``.
    ///
    /// - Returns: the problem for which a part of the response was ignored, if any.
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
        case .unreadable(_, let error, _, _): return error
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

    /// True if only targets of limbo resolution have reported documents since the last event.
    package func hasLimboChangesOnly(knowing knowledge: some WatchKnowledge) -> Bool {
        guard mismatches.isEmpty else { return false }
        return targetsOfDocuments.values.allSatisfy { ids in
            ids.allSatisfy { knowledge.target($0)?.purpose == .limboResolution }
        }
    }

    /// Makes the event of a snapshot from the responses since the last one.
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
        deletedDocumentTargets = []
        return event
    }
}

// MARK: - Targets

extension WatchAggregator {
    /// A target whose responses are not ignored.
    func activeTarget(_ id: Int32, _ knowledge: some WatchKnowledge) -> TargetData? {
        guard let index = states.index(forKey: id), states.values[index].outstanding == 0 else {
            return nil
        }
        return knowledge.target(id)
    }

    /// Documents that have entered a target since the last event, less those that have left it.
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

    /// Sets the token of all active targets, in place.
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

    /// Removes all documents from a target that the backend sends again from scratch.
    mutating func reset(_ id: Int32, _ knowledge: some WatchKnowledge) {
        currentDocumentTargets.remove(id)
        update(id) { $0 = WatchedTargetState() }
        for path in knowledge.remoteKeys(of: id) {
            remove(path, nil, from: id, knowledge)
        }
    }

    /// Changes a target's state, and keeps ``changedTargets`` up to date.
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
        record(reading.path, reading, of: target)
    }

    /// Removes a document from a target.
    ///
    /// - Parameter reading: the document's present state, if reported.
    mutating func remove(
        _ path: DocumentPath, _ reading: DocumentReading?, from id: Int32,
        _ knowledge: some WatchKnowledge
    ) {
        guard let target = activeTarget(id, knowledge) else { return }
        let isKnown = knowledge.isRemoteKey(path, of: id)
        update(id) { $0.remove(path, isKnown: isKnown) }
        record(path, reading, of: target)
    }

    private mutating func record(
        _ path: DocumentPath, _ reading: DocumentReading?, of target: TargetData
    ) {
        targetsOfDocuments[path, default: TargetIDSet(target.id)].insert(target.id)
        guard let reading else {
            // The document left its own target: earlier reports are void.
            if target.document == path { forgetReports(of: target.id) }
            return
        }
        documents[path] = reading
        guard target.document == path else { return }
        forgetReports(of: target.id)
        if reading.exists {
            answeredDocumentTargets.insert(target.id)
        } else {
            deletedDocumentTargets.insert(target.id)
        }
    }

    private mutating func forgetReports(of id: Int32) {
        answeredDocumentTargets.remove(id)
        deletedDocumentTargets.remove(id)
    }

    /// Treats a document as missing if its own target is current and does not have it.
    ///
    /// Reports of other targets do not matter: they may be of an older snapshot, also if they come
    /// after a report of the document's own target that it was deleted.
    private mutating func removeMissingDocuments(
        at version: SnapshotVersion, _ knowledge: some WatchKnowledge
    ) {
        let answered: Set<DocumentPath> =
            deletedDocumentTargets.isEmpty
            ? [] : Set(answeredDocumentTargets.compactMap { knowledge.target($0)?.document })
        for id in currentDocumentTargets.subtracting(answeredDocumentTargets) {
            guard let path = activeTarget(id, knowledge)?.document,
                deletedDocumentTargets.contains(id)
                    ? documents[path]?.exists == true && !answered.contains(path)
                    : !knowledge.isRemoteKey(path, of: id)
            else { continue }
            let missing = DocumentReading(path: path, contents: .absent, version: version)
            remove(path, missing, from: id, knowledge)
        }
    }

    /// Changed documents that were reported by targets of limbo resolution only.
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

extension WatchAggregator {
    /// Compares the number of documents in a target with the backend's.
    ///
    /// If they differ and the filter does not identify the surplus documents, the target is reset
    /// and requested again.
    ///
    /// - Returns: the problem with the count or the filter, if any.
    mutating func handleFilter(
        of id: Int32, _ count: Int, _ unchanged: BloomFilterBits?, _ knowledge: some WatchKnowledge
    ) -> LarderError? {
        guard let target = activeTarget(id, knowledge) else { return nil }
        if let path = target.document {
            guard count == 0 else {
                return count == 1 ? nil : .invalidArgument("one document was counted as \(count)")
            }
            let gone = DocumentReading(path: path, contents: .absent, version: .none)
            remove(path, gone, from: id, knowledge)
            return nil
        }
        guard size(of: id, knowledge) != count else { return nil }
        do throws(LarderError) {
            if let filter = try unchanged.map(BloomFilter.init(_:)), !filter.isEmpty {
                removeDocuments(notIn: filter, of: id, knowledge)
                if size(of: id, knowledge) != count {
                    mismatch(id, .existenceFilterMismatchBloom, knowledge)
                }
            } else {
                mismatch(id, .existenceFilterMismatch, knowledge)
            }
            return nil
        } catch {
            mismatch(id, .existenceFilterMismatch, knowledge)
            return error
        }
    }

    /// The number of documents in a target, including changes since the last event.
    private func size(of id: Int32, _ knowledge: some WatchKnowledge) -> Int {
        knowledge.remoteKeys(of: id).count + growth(of: id)
    }

    private mutating func mismatch(
        _ id: Int32, _ purpose: WatchTarget.Purpose, _ knowledge: some WatchKnowledge
    ) {
        reset(id, knowledge)
        mismatches[id] = purpose
    }

    /// Removes the documents from a target that are not in a filter.
    private mutating func removeDocuments(
        notIn filter: BloomFilter, of id: Int32, _ knowledge: some WatchKnowledge
    ) {
        for path in knowledge.remoteKeys(of: id)
        where !filter.contains(path.string, after: documentNames) {
            remove(path, nil, from: id, knowledge)
        }
    }
}

/// The state of its owner that a ``WatchAggregator`` reads.
package protocol WatchKnowledge {
    /// A watched target; nil for any other.
    func target(_ id: Int32) -> TargetData?

    /// True for a watched target; called for every target of a snapshot.
    func isWatched(_ id: Int32) -> Bool

    /// The documents of a target at the backend, as of the last event.
    func remoteKeys(of id: Int32) -> TreeSet<DocumentPath>

    /// True if ``remoteKeys(of:)`` has a document; called for every document of a response.
    func isRemoteKey(_ path: DocumentPath, of id: Int32) -> Bool
}

extension WatchKnowledge {
    package func isWatched(_ id: Int32) -> Bool { target(id) != nil }

    package func isRemoteKey(_ path: DocumentPath, of id: Int32) -> Bool {
        remoteKeys(of: id).contains(path)
    }
}
