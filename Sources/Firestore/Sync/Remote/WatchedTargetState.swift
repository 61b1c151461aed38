import LarderModel

/// The changes of one target since the last event.
struct WatchedTargetState {
    /// Until then its responses belong to an earlier request.
    var outstanding = 0
    private(set) var change = RemoteTargetChange()
    private(set) var hasChanges = true

    /// The documents that have entered the target, less those that have left it.
    var growth: Int { change.added.count - change.removed.count }

    /// - Parameter isKnown: whether it was, as of the last event.
    mutating func add(_ path: DocumentPath, isKnown: Bool) {
        hasChanges = true
        if isKnown {
            change.added.forget(path)
            change.modified.insert(path)
        } else {
            change.modified.forget(path)
            change.added.insert(path)
        }
        change.removed.forget(path)
    }

    /// - Parameter isKnown: whether it was, as of the last event.
    mutating func remove(_ path: DocumentPath, isKnown: Bool) {
        hasChanges = true
        change.added.forget(path)
        change.modified.forget(path)
        if isKnown { change.removed.insert(path) } else { change.removed.forget(path) }
    }

    mutating func markCurrent() {
        hasChanges = true
        change.isCurrent = true
    }

    mutating func resume(from token: [UInt8]) {
        guard !token.isEmpty else { return }
        hasChanges = true
        change.resumeToken = token
    }

    /// The backend has confirmed a request; an unexpected confirmation is ignored.
    mutating func added(resumeToken: [UInt8]) {
        guard outstanding > 0 else { return }
        outstanding -= 1
        if outstanding == 0 { clearChanges() }
        resume(from: resumeToken)
    }

    private mutating func clearChanges() {
        hasChanges = false
        change.added = []
        change.modified = []
        change.removed = []
    }

    /// Returns the changes, and starts collecting those of the next event.
    mutating func takeChange() -> RemoteTargetChange {
        defer { clearChanges() }
        return change
    }
}

extension Set<DocumentPath> {
    /// Removes a path; skips its hash if the set is empty.
    fileprivate mutating func forget(_ path: DocumentPath) {
        if !isEmpty { remove(path) }
    }
}

/// The targets of a document: nearly always one, which is stored without an allocation.
struct TargetIDSet {
    private let first: Int32
    private var others: Set<Int32> = []

    init(_ id: Int32) {
        first = id
    }

    mutating func insert(_ id: Int32) {
        if id != first { others.insert(id) }
    }

    func allSatisfy(_ test: (Int32) -> Bool) -> Bool {
        test(first) && others.allSatisfy(test)
    }
}
