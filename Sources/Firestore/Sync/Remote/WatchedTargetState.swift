import LarderModel

/// What a watch stream has told of one target since the last event.
struct WatchedTargetState {
    /// Requests for the target that the backend has not answered.
    ///
    /// Until it has, what it tells is of an earlier request.
    var outstanding = 0
    /// What the next event says of the target.
    private(set) var change = RemoteTargetChange()
    /// Whether the next event says anything of it.
    private(set) var hasChanges = true

    /// By how much more documents have come into the target than left it.
    var growth: Int { change.added.count - change.removed.count }

    /// A document is in the target.
    ///
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

    /// A document is not in the target.
    ///
    /// - Parameter isKnown: whether it was, as of the last event.
    mutating func remove(_ path: DocumentPath, isKnown: Bool) {
        hasChanges = true
        change.added.forget(path)
        change.modified.forget(path)
        if isKnown { change.removed.insert(path) } else { change.removed.forget(path) }
    }

    /// All that there was has been told.
    mutating func markCurrent() {
        hasChanges = true
        change.isCurrent = true
    }

    /// Takes a token, unless it is empty.
    mutating func resume(from token: [UInt8]) {
        guard !token.isEmpty else { return }
        hasChanges = true
        change.resumeToken = token
    }

    /// The backend watches the target; an answer that nothing waited for is passed over.
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

    /// What an event says of the target; the next one says what is told from here on.
    mutating func takeChange() -> RemoteTargetChange {
        defer { clearChanges() }
        return change
    }
}

extension Set<DocumentPath> {
    /// Takes a path out; to look in an empty set would cost a hash of it.
    fileprivate mutating func forget(_ path: DocumentPath) {
        if !isEmpty { remove(path) }
    }
}

/// Targets of one document: nearly always one, which needs no memory of its own.
struct TargetIDSet {
    private let first: Int32
    private var others: Set<Int32> = []

    /// One target.
    init(_ id: Int32) {
        first = id
    }

    /// Adds a target.
    mutating func insert(_ id: Int32) {
        if id != first { others.insert(id) }
    }

    /// Whether all are as a test asks.
    func allSatisfy(_ test: (Int32) -> Bool) -> Bool {
        test(first) && others.allSatisfy(test)
    }
}
