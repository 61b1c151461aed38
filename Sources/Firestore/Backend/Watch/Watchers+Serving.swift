import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderStorage

/// How streams are told what there is to tell.
extension Watchers {
    private static let maxPageCount = 64
    /// Which part of the documents that are gone a client may keep.
    private static let falsePositiveRate = 0.01

    /// Says what there is to say, as far as the client takes it.
    func serve(_ session: WatchSession) {
        defer { noteProgress(of: session) }
        while session.demand > 0 {
            switch session.outbox.next(limit: min(session.demand, Self.maxPageCount)) {
            case .nothing: return
            case .response(let response): session.say(response)
            case .change(let change):
                session.say(session.response(to: change, session.outbox.lastSnapshot))
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

    /// Reads documents and makes ready what is said of them in view of a target.
    private func tell(_ paths: [DocumentPath], of targetID: Int32, to session: WatchSession)
        throws(LarderError)
    {
        let documents = try store.read { (transaction) throws(LarderError) -> [Document?] in
            var documents: [Document?] = []
            for path in paths { documents.append(try transaction.document(at: path)) }
            return documents
        }
        let queries = session.targets[targetID]?.queries ?? []
        for (path, document) in zip(paths, documents) {
            // Of several documents each that exists is in the target, which has no others.
            let isMember = document.map {
                queries.count > 1 ? $0.exists : queries.first?.contains($0) == true
            }
            var change = PendingChanges.Change(path: path, document: document, isChanged: true)
            change.add(targetID, isMember: isMember ?? false)
            session.count(isMember: isMember ?? false, in: targetID)
            session.outbox.say(session.response(to: change, version))
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
        return WatchOutbox.Ending(
            version: version,
            token: ResumeToken(identity: identity, version: version).bytes, filters: filters)
    }

    /// What a client is told to compare its documents of a resumed target with; nil where the
    /// numbers leave no doubt.
    private func filter(for targetID: Int32, of session: WatchSession)
        throws(LarderError) -> WatchResponse?
    {
        guard let target = session.targets[targetID], let expected = target.expectedCount else {
            return nil
        }
        session.targets[targetID]?.expectedCount = nil
        var count = 0
        for query in target.queries { count += try query.count(store, runner) }
        // What it was not told of it knows already; of the rest it may have known any.
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
