package import LarderModel
package import LarderRemote

/// What a client may conclude from a watch stream, by the rules of the protocol and no others.
package struct WatchMirror: Sendable {
    /// A target that the client has asked for.
    package struct Target: Sendable {
        /// The documents in it.
        package var paths: Set<DocumentPath> = []
        /// Whether everything up to some moment was told.
        package var isCurrent = false
        /// What goes on from there; empty for none.
        package var resumeToken: [UInt8] = []
        /// Whether the count of documents did not agree, whatever a bloom filter did.
        package var isMismatched = false
        /// Requests that are not answered yet.
        fileprivate var outstanding = 0
    }

    /// The current targets at a moment, all of them with their documents.
    package struct Snapshot: Sendable {
        /// The moment.
        package let version: SnapshotVersion
        /// The documents by target.
        package let targets: [Int32: [DocumentPath: DocumentReading]]
        /// What each of the targets goes on from; empty for none.
        package let tokens: [Int32: [UInt8]]
    }

    /// The targets.
    package private(set) var targets: [Int32: Target] = [:]
    /// Why targets were refused.
    package private(set) var refusals: [Int32: LarderError] = [:]
    /// The last changes of documents.
    package private(set) var documents: [DocumentPath: DocumentReading] = [:]
    /// The snapshots so far.
    package private(set) var snapshots: [Snapshot] = []
    /// Everything that was heard, in a few words each.
    package private(set) var heard: [String] = []
    /// What no backend may say.
    package private(set) var violations: [String] = []
    /// How the stream ended, if it did: with an error or, nil, in good order.
    package private(set) var ending: LarderError??

    private let database: DatabaseID

    /// A client of a database that knows nothing.
    package init(_ database: DatabaseID) {
        self.database = database
    }

    /// Takes note of a request that is sent.
    ///
    /// - Parameter known: the documents that the client knows of a target that it resumes.
    package mutating func send(_ request: WatchRequest, known: [DocumentPath: DocumentReading]) {
        switch request {
        case .add(let target):
            targets[target.id, default: Target()].outstanding += 1
            targets[target.id]?.paths = Set(known.keys)
            documents.merge(known) { _, new in new }
        case .remove(let id): targets[id]?.outstanding += 1
        }
    }

    /// Takes note of an event.
    package mutating func receive(_ event: WatchEvent) {
        switch event {
        case .opened:
            if !heard.isEmpty { violations.append("opened late") }
            heard.append("opened")
        case .response(let response):
            if heard.isEmpty || ending != nil { violations.append("a response out of place") }
            heard.append(response.text)
            receive(response)
        case .closed(let error):
            if ending != nil { violations.append("closed twice") }
            heard.append("closed")
            ending = .some(error)
        }
    }

    private mutating func receive(_ response: WatchResponse) {
        switch response {
        case .targets(let change): receive(change)
        case .document(let reading, let joined, let left):
            if let known = documents[reading.path], known.version > reading.version {
                violations.append("\(reading.path) went back in time from \(known) to \(reading)")
            }
            documents[reading.path] = reading
            if !reading.exists, !joined.isEmpty { violations.append("what is gone joined") }
            for id in joined { change(id) { $0.paths.insert(reading.path) } }
            for id in left { change(id) { $0.paths.remove(reading.path) } }
        case .removed(let path, let left):
            for id in left { change(id) { $0.paths.remove(path) } }
        case .unreadable(_, let error, _, _): violations.append("unreadable: \(error)")
        case .existenceFilter(let id, let count, let unchanged):
            let database = database
            change(id) { target in
                guard target.paths.count != count else { return }
                target.isMismatched = true
                guard let unchanged, let filter = try? BloomFilter(unchanged) else { return }
                target.paths = target.paths.filter {
                    filter.contains(ResourceName(database: database, document: $0).string)
                }
            }
        }
    }

    private mutating func receive(_ change: TargetChange) {
        switch change.kind {
        case .added: for id in change.targetIDs { answer(id, isAdded: true) }
        case .removed(nil): for id in change.targetIDs { answer(id, isAdded: false) }
        case .removed(let error?):
            for id in change.targetIDs {
                targets[id] = nil
                refusals[id] = error
            }
        case .reset:
            for id in change.targetIDs {
                self.change(id) { target in
                    target.paths = []
                    target.isCurrent = false
                }
            }
        case .current, .none:
            let ids = change.targetIDs.isEmpty ? active : change.targetIDs
            for id in ids {
                self.change(id) { target in
                    if change.kind == .current { target.isCurrent = true }
                    if !change.resumeToken.isEmpty { target.resumeToken = change.resumeToken }
                }
            }
            if change.targetIDs.isEmpty { takeSnapshot(change) }
        }
    }

    private var active: [Int32] { targets.keys.filter { targets[$0]?.outstanding == 0 } }

    private mutating func answer(_ id: Int32, isAdded: Bool) {
        guard var target = targets[id], target.outstanding > 0 else {
            violations.append("an answer to nothing")
            return
        }
        target.outstanding -= 1
        targets[id] = !isAdded && target.outstanding == 0 ? nil : target
    }

    /// Changes a target that the backend speaks of, if the client wants it.
    private mutating func change(_ id: Int32, _ body: (inout Target) -> Void) {
        guard var target = targets[id] else {
            violations.append("target \(id) is not watched")
            return
        }
        guard target.outstanding == 0 else { return }
        body(&target)
        targets[id] = target
    }

    private mutating func takeSnapshot(_ change: TargetChange) {
        guard !change.readTime.isNone else { return }
        if let last = snapshots.last, last.version > change.readTime {
            violations.append("a snapshot went back in time")
        }
        if !change.resumeToken.isEmpty,
            targets.values.contains(where: { $0.outstanding == 0 && !$0.isCurrent })
        {
            violations.append("a token for a target that is not current")
        }
        let current = targets.filter { $0.value.isCurrent && $0.value.outstanding == 0 }
        snapshots.append(
            Snapshot(
                version: change.readTime,
                targets: current.mapValues { target in documents(at: target.paths) },
                tokens: current.mapValues(\.resumeToken)))
    }

    /// The documents of a target, as they were told last.
    package func documents(of id: Int32) -> [DocumentPath: DocumentReading] {
        documents(at: targets[id]?.paths ?? [])
    }

    private func documents(at paths: Set<DocumentPath>) -> [DocumentPath: DocumentReading] {
        documents.filter { paths.contains($0.key) }
    }
}
