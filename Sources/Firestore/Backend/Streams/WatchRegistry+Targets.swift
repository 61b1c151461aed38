import Dispatch
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote

/// Adding and removing targets.
extension WatchRegistry {
    /// The initial responses of a target.
    private struct Beginning {
        /// Whether the client's state is reset.
        var resets = false
        var paths: [DocumentPath]
    }

    /// The number of changes up to which a target is resumed regardless of its size.
    private static let cheapChangeCount = 100

    /// Adds a target to a stream.
    ///
    /// A rejected target is first reported as added and then as removed with the cause.
    func add(
        _ target: WatchTarget, to session: WatchSession, checking: () throws(LarderError) -> Void
    ) {
        session.outbox.say(.targets(TargetChange(.added, targetIDs: [target.id])))
        do throws(LarderError) {
            try checking()
            session.targets[target.id] = WatchSession.Target()
            var beginning = Beginning(paths: [])
            for asked in target.all {
                let query = try subscribe(
                    WatchedQuery.Subscriber(stream: session.id, targetID: target.id), to: asked,
                    session.memory)
                session.targets[target.id]?.queries.append(query)
                let part = try begin(target, query)
                beginning.resets = beginning.resets || part.resets
                beginning.paths += part.paths
            }
            if beginning.resets {
                session.outbox.say(.targets(TargetChange(.reset, targetIDs: [target.id])))
            } else {
                session.targets[target.id]?.expectedCount = target.expectedCount
            }
            session.outbox.load(target.id, beginning.paths)
        } catch {
            fail(target.id, of: session, error)
        }
    }

    /// Rejects a target before it is watched.
    func refuse(_ targetID: Int32, of session: WatchSession, _ error: LarderError) {
        session.outbox.say(.targets(TargetChange(.added, targetIDs: [targetID])))
        session.outbox.say(.targets(TargetChange(.removed(error), targetIDs: [targetID])))
    }

    /// Removes a target at its client's request.
    func remove(_ targetID: Int32, from session: WatchSession) {
        drop(targetID, from: session)
        session.outbox.say(.targets(TargetChange(.removed(nil), targetIDs: [targetID])))
    }

    func fail(_ targetID: Int32, of session: WatchSession, _ error: LarderError) {
        drop(targetID, from: session)
        session.outbox.say(.targets(TargetChange(.removed(error), targetIDs: [targetID])))
    }

    private func drop(_ targetID: Int32, from session: WatchSession) {
        if let target = session.targets.removeValue(forKey: targetID) {
            unsubscribe(target, targetID, of: session.id)
        }
        session.outbox.drop(targetID)
    }

    /// The initial responses for one query of a target.
    private func begin(_ target: WatchTarget, _ query: WatchedQuery)
        throws(LarderError) -> Beginning
    {
        switch target.resumption {
        case .none:
            return try Beginning(paths: paths(of: query))
        case .token(let bytes):
            guard case .known(let version) = runs.judge(bytes) else {
                return try Beginning(resets: true, paths: paths(of: query))
            }
            return try beginning(after: version, query)
        case .readTime(let version):
            guard runs.includes(version) else {
                return try Beginning(resets: true, paths: paths(of: query))
            }
            return try beginning(after: version, query)
        }
    }

    /// Resets all targets, and sends all of their documents again: their versions have risen.
    func sendAllAgain() {
        var known: [ViewID: [DocumentPath]] = [:]
        for (_, session) in sessions.sorted(by: { $0.key < $1.key }) {
            for (id, target) in session.targets.sorted(by: { $0.key < $1.key }) {
                do throws(LarderError) {
                    var paths: [DocumentPath] = []
                    for query in target.queries {
                        let found =
                            if let found = known[query.id] { found } else {
                                try self.paths(of: query)
                            }
                        known[query.id] = found
                        paths += found
                    }
                    session.targets[id]?.expectedCount = nil
                    session.outbox.drop(id)
                    session.outbox.say(.targets(TargetChange(.reset, targetIDs: [id])))
                    session.outbox.load(id, paths)
                } catch {
                    fail(id, of: session, error)
                }
            }
            serve(session)
        }
    }

    private func paths(of query: WatchedQuery) throws(LarderError) -> [DocumentPath] {
        if case .document(let path) = query.target.source { return [path] }
        return try query.paths(version, store, runner)
    }

    /// The initial responses for a client that has received everything up to a version.
    ///
    /// Sends the documents changed since then, unless tombstones may be missing or sending all
    /// results is less work.
    private func beginning(after known: SnapshotVersion, _ query: WatchedQuery)
        throws(LarderError) -> Beginning
    {
        if case .document(let path) = query.target.source { return Beginning(paths: [path]) }
        let changed = try store.read { (transaction) throws(LarderError) -> [DocumentPath]? in
            guard try transaction.deletesForgottenBefore() <= known else { return nil }
            return try transaction.changes(since: known, at: query.target.source)
        }
        if let changed, changed.isEmpty { return Beginning(paths: []) }
        // With a limit, documents that moved up have not changed, so changes alone are
        // insufficient.
        guard let changed, query.target.limit == nil else {
            return try Beginning(resets: true, paths: paths(of: query))
        }
        if changed.count > Self.cheapChangeCount, try changed.count > query.count(store, runner) {
            return try Beginning(resets: true, paths: paths(of: query))
        }
        return Beginning(paths: changed)
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The documents of a source that have changed since a version, including deleted ones.
    fileprivate func changes(since version: SnapshotVersion, at source: Query.Source)
        throws(LarderError) -> [DocumentPath]
    {
        let collections: [CollectionPath] =
            switch source {
            case .collection(let path): [path]
            case .group(let id): try allCollections().map(\.path).filter { $0.id == id }
            case .document: []
            }
        var options = ScanOptions(includesAllStates: true)
        options.readsNamesOnly = true
        let known = SnapshotVersion(version.timestamp.truncatedToMicroseconds)
        var paths: [DocumentPath] = []
        for collection in collections {
            try documents(
                in: .readAfter(known, in: collection), options: options
            ) { entry throws(LarderError) in
                paths.append(entry.path)
                return .continue
            }
        }
        return paths
    }
}

// MARK: - Serving

/// Sending responses on streams.
extension WatchRegistry {
    private static let maxPageCount = 64
    /// The fraction of removed documents that a client may fail to detect.
    private static let falsePositiveRate = 0.01

    /// Sends responses as long as there is demand.
    func serve(_ session: WatchSession) {
        defer { noteProgress(of: session) }
        while session.hasDemand {
            if session.isStarved { return postpone(session) }
            switch session.outbox.next(limit: min(session.demand, Self.maxPageCount)) {
            case .nothing: return
            case .response(let response): session.say(response)
            case .change(let change):
                session.say(
                    session.response(
                        to: change, session.outbox.lastSnapshot, above: runs.floors.last))
            case .page(let targetID, let paths):
                do throws(LarderError) {
                    try tell(paths, of: targetID, to: session)
                } catch {
                    fail(targetID, of: session, error)
                }
            case .snapshot:
                session.outbox.beginSnapshot(ending(for: session))
            }
        }
    }

    /// Serves a stream later, when other clients may have released memory.
    private func postpone(_ session: WatchSession) {
        starved.insert(session.id)
        guard starved.count == 1 else { return }
        retry(Self.retryInterval)
    }

    private static let retryInterval = DispatchTimeInterval.milliseconds(50)

    /// Serves the streams for which there was no memory.
    func serveStarved() {
        let ids = starved.sorted()
        starved = []
        for id in ids {
            if let session = session(id) { serve(session) }
        }
    }

    /// Reads documents and queues responses for a target.
    private func tell(_ paths: [DocumentPath], of targetID: Int32, to session: WatchSession)
        throws(LarderError)
    {
        var documents: [Document?] = []
        var left = session.room
        try store.read { (transaction) throws(LarderError) in
            for path in paths where left > 0 || documents.isEmpty {
                let document = try transaction.document(at: path)
                left -= document?.record?.memoryBytes ?? 0
                documents.append(document)
            }
        }
        session.outbox.finishPage(documents.count)
        let queries = session.targets[targetID]?.queries ?? []
        for (path, document) in zip(paths, documents) {
            // A target of several documents contains those that exist; its queries match nothing
            // else.
            let isMember = document.map {
                queries.count > 1 ? $0.exists : queries.first?.contains($0) == true
            }
            var change = PendingChanges.Change(path: path, document: document, isChanged: true)
            change.add(targetID, isMember: isMember ?? false)
            session.count(isMember: isMember ?? false, in: targetID)
            session.outbox.say(session.response(to: change, version, above: runs.floors.last))
        }
    }

    private func ending(for session: WatchSession) -> WatchOutbox.Ending {
        var filters: [(Int32, WatchResponse)] = []
        for targetID in session.outbox.loaded {
            do throws(LarderError) {
                if let filter = try filter(for: targetID, of: session) {
                    filters.append((targetID, filter))
                }
            } catch {
                fail(targetID, of: session, error)
            }
        }
        return WatchOutbox.Ending(version: version, token: runs.token, filters: filters)
    }

    /// The existence filter of a resumed target; nil if the counts match unambiguously.
    private func filter(for targetID: Int32, of session: WatchSession)
        throws(LarderError) -> WatchResponse?
    {
        guard let target = session.targets[targetID], let expected = target.expectedCount else {
            return nil
        }
        session.targets[targetID]?.expectedCount = nil
        var count = 0
        for query in target.queries { count += try query.count(store, runner) }
        // Unreported documents are known to the client; of the reported ones it may have known any.
        let possible = (count - target.joinedCount)...(count + target.leftCount)
        if possible.contains(expected) {
            return target.joinedCount + target.leftCount == 0
                ? nil : .existenceFilter(targetID: targetID, count: count, unchanged: nil)
        }
        var names: [String] = []
        for query in target.queries {
            names += try query.paths(version, store, runner).map {
                ResourceName(database: runner.databaseID, document: $0).string
            }
        }
        let filter = BloomFilter(keys: names, falsePositiveRate: Self.falsePositiveRate)
        return .existenceFilter(targetID: targetID, count: count, unchanged: filter.bits)
    }
}
