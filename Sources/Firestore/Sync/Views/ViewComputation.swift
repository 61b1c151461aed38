import Foundation
import HashTreeCollections
import LarderModel
import LarderQuery

/// Applies changes of documents to a query's result: each document once, then ``finish()``.
struct ViewComputation {
    private let limit: Query.Limit?
    /// The last document within a full limit that counts from the start.
    private let lastInLimit: Document?
    /// The first document within a full limit that counts from the end.
    private let firstInLimit: Document?
    private let oldMutatedKeys: TreeSet<DocumentPath>

    /// The result, without the changes until ``finish()``.
    private(set) var documents: DocumentSet
    private var edits: [(place: DocumentSet.Place, new: Document?)] = []
    private(set) var mutatedKeys: TreeSet<DocumentPath>
    private(set) var unconfirmedCommits: [DocumentPath: UnconfirmedCommit]
    /// Documents that a limited result has lost by changes of the backend.
    private(set) var lost: [DocumentPath]
    /// Documents that the backend has moved beyond the edge of a full, limited result: unknown
    /// documents may precede them now.
    private(set) var moved: [DocumentPath]
    private(set) var changes: DocumentChangeSet
    /// Whether documents outside of the result may belong into it now.
    private(set) var needsRefill = false

    init(
        limit: Query.Limit?, documents: DocumentSet, mutatedKeys: TreeSet<DocumentPath>,
        lost: [DocumentPath], moved: [DocumentPath],
        unconfirmedCommits: [DocumentPath: UnconfirmedCommit], changes: DocumentChangeSet
    ) {
        self.limit = limit
        self.documents = documents
        self.mutatedKeys = mutatedKeys
        self.lost = lost
        self.moved = moved
        self.unconfirmedCommits = unconfirmedCommits
        self.changes = changes
        oldMutatedKeys = mutatedKeys
        // With fewer documents than the limit allows, all that match are in the set.
        switch limit {
        case .first(documents.count): (lastInLimit, firstInLimit) = (documents.last, nil)
        case .last(documents.count): (lastInLimit, firstInLimit) = (nil, documents.first)
        default: (lastInLimit, firstInLimit) = (nil, nil)
        }
    }

    /// Applies the new state of a document.
    ///
    /// - Parameters:
    ///   - new: the document; nil if it does not match.
    ///   - revertsWrites: whether pending writes were rejected or cancelled.
    ///   - isRemote: whether it has no pending writes.
    mutating func add(
        _ new: Document?, at path: DocumentPath, revertsWrites: Bool, isRemote: Bool
    ) {
        let place = documents.place(of: path)
        switch (place.document, new) {
        case (nil, nil): break
        // Documents outside a limit that was reached enter only when another leaves, and then
        // the query is run again.
        case (nil, let new?): if !isOutsideLimit(new) { put(new, at: place, .added) }
        case (let old?, nil):
            remove(old, at: place)
            if limit != nil, isRemote { lost.append(path) }
        case (let old?, let new?):
            replace(old, at: place, with: new, revertsWrites)
            if isRemote, old.record != new.record, isOutsideLimit(new) { moved.append(path) }
        }
    }

    private mutating func replace(
        _ old: Document, at place: DocumentSet.Place, with new: Document, _ revertsWrites: Bool
    ) {
        if old.record != new.record {
            // A committed result is not shown before the watch stream confirms it; that of a
            // reverted write disappears at once, since nothing will be confirmed.
            let isBetweenWriteAndWatch =
                old.hasLocalMutations && new.hasCommittedMutations && !new.hasLocalMutations
            guard !isBetweenWriteAndWatch || revertsWrites else {
                unconfirmedCommits[old.path] = UnconfirmedCommit(version: new.version)
                return
            }
            put(new, at: place, .modified)
            needsRefill = needsRefill || isOutsideLimit(new)
        } else {
            let wasPending = oldMutatedKeys.contains(old.path)
            let isPending =
                new.hasLocalMutations || (wasPending && new.hasCommittedMutations)
            if wasPending != isPending {
                put(new, at: place, .metadata)
            } else if old.hasLocalMutations {
                unconfirmedCommits[old.path] =
                    new.hasLocalMutations ? nil : UnconfirmedCommit(version: new.version)
            } else if !new.hasLocalMutations, !old.hasTimes(of: new) {
                // No change to listeners, but later snapshots have the backend's times.
                edits.append((place, new))
            }
        }
    }

    private mutating func put(
        _ new: Document, at place: DocumentSet.Place, _ kind: DocumentViewChange.Kind
    ) {
        changes.add(DocumentViewChange(kind, new))
        edits.append((place, new))
        forgetCommit(of: new.path)
        if new.hasLocalMutations {
            mutatedKeys.insert(new.path)
        } else if !mutatedKeys.isEmpty {
            // To look in an empty set costs a hash of the path.
            mutatedKeys.remove(new.path)
        }
    }

    private mutating func remove(_ old: Document, at place: DocumentSet.Place) {
        changes.add(DocumentViewChange(.removed, old))
        edits.append((place, nil))
        mutatedKeys.remove(old.path)
        forgetCommit(of: old.path)
        needsRefill = needsRefill || lastInLimit != nil || firstInLimit != nil
    }

    private mutating func forgetCommit(of path: DocumentPath) {
        if !unconfirmedCommits.isEmpty { unconfirmedCommits[path] = nil }
    }

    private func isOutsideLimit(_ document: Document) -> Bool {
        let comparator = documents.comparator
        if let lastInLimit {
            return comparator.compare(document, lastInLimit) == .orderedDescending
        }
        if let firstInLimit {
            return comparator.compare(document, firstInLimit) == .orderedAscending
        }
        return false
    }

    /// Applies the changes, and removes documents beyond the limit.
    mutating func finish() {
        documents.apply(edits)
        edits = []
        enforceLimit()
    }

    private mutating func enforceLimit() {
        guard let limit else { return }
        while documents.count > limit.count {
            let surplus: Document? =
                switch limit {
                case .first: documents.last
                case .last: documents.first
                }
            guard let surplus else { return }
            changes.add(DocumentViewChange(.removed, surplus))
            documents.remove(surplus.path)
            mutatedKeys.remove(surplus.path)
            forgetCommit(of: surplus.path)
        }
    }
}

extension Document {
    fileprivate func hasTimes(of other: Document) -> Bool {
        version == other.version && createTime == other.createTime
    }
}
