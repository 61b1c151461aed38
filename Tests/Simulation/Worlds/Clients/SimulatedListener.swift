import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import SimulationSupport

/// A listener of a query that checks each snapshot that it receives.
final class SimulatedListener: @unchecked Sendable {
    // One thread runs a world.

    let name: String
    let query: Query
    let options: ListenOptions
    private let client: SimulatedClient
    private let evaluator: NaiveEvaluator

    var registration: ClientRegistration?
    /// True if it must not receive anything more.
    var isOver = false
    /// The error that ended it.
    private(set) var error: LarderError?
    /// The last snapshot.
    private(set) var snapshot: ViewSnapshot?
    /// The documents according to the changes of snapshots.
    private var list: [Document] = []
    /// The last version of each listed document from the backend.
    private var versions: [DocumentPath: SnapshotVersion] = [:]

    /// A listener without a snapshot.
    init(_ name: String, to query: Query, _ options: ListenOptions, of client: SimulatedClient) {
        self.name = "client \(client.number) listener \(name)"
        self.query = query
        self.options = options
        self.client = client
        evaluator = NaiveEvaluator(query)
    }

    private var journal: Journal { client.journal }

    private func expect(_ holds: Bool, _ promise: @autoclosure () -> String) {
        journal.expect(holds, "\(name) to \(query.canonicalID): \(promise())")
    }

    /// Takes a snapshot.
    func receive(_ result: Result<ViewSnapshot, LarderError>) {
        expect(!isOver, "told after its end: \(result)")
        expect(error == nil, "told after an error: \(result)")
        switch result {
        case .failure(let error):
            journal.note("\(name): \(error)")
            self.error = error
            expect(
                error.kind == .permissionDenied && client.rules.hasDeniedTarget
                    || error.kind == .unavailable && client.disk.hasFailed
                    || error.kind == .failedPrecondition, "\(error)")
        case .success(let snapshot):
            journal.note("\(name): \(snapshot.summary)")
            checkChanges(of: snapshot)
            checkDocuments(of: snapshot)
            checkSync(of: snapshot)
            self.snapshot = snapshot
            client.running?.isOutOfSync = true
        }
    }

    /// Checks that the changes lead from the last snapshot to this one, and that there are some.
    private func checkChanges(of snapshot: ViewSnapshot) {
        guard !snapshot.oldDocuments.isEmpty || snapshot.changes.count == snapshot.documents.count
        else { return expect(false, "changes from nothing: \(snapshot.changes.count)") }
        if let last = self.snapshot {
            let isNews =
                !snapshot.changes.isEmpty
                || options.includeMetadataChanges
                    && (last.isFromCache != snapshot.isFromCache
                        || last.hasPendingWrites != snapshot.hasPendingWrites)
            expect(isNews, "told the same again")
        } else {
            expect(snapshot.oldDocuments.isEmpty, "the first snapshot is a change")
        }
        do throws(LarderError) {
            for change in try snapshot.documentChanges(
                includeMetadataChanges: options.includeMetadataChanges)
            {
                guard (change.oldIndex ?? 0) < list.count || change.oldIndex == nil else {
                    return expect(false, "a change of what is not there: \(change)")
                }
                if let index = change.oldIndex {
                    let old = list.remove(at: index)
                    expect(old.path == change.document.path, "\(old.path) changed to \(change)")
                }
                if let index = change.newIndex {
                    guard index <= list.count else {
                        return expect(false, "a change beyond the end: \(change)")
                    }
                    list.insert(change.document, at: index)
                }
            }
        } catch {
            expect(false, "no changes: \(error)")
        }
        expect(
            list.map(\.path) == snapshot.documents.map(\.path)
                && list.map(\.record) == snapshot.documents.map(\.record),
            "the changes lead to \(list.map(\.path)), not to \(snapshot.documents.map(\.path))")
    }

    /// Checks that documents match in order, equal the backend's, and do not get older.
    private func checkDocuments(of snapshot: ViewSnapshot) {
        var fields: [DocumentPath: MapValue] = [:]
        for document in snapshot.documents { fields[document.path] = document.fields }
        let expected = evaluator.documents(among: fields)
        expect(
            expected == snapshot.documents.map(\.path),
            "\(snapshot.documents.map(\.path)) should be \(expected)")
        var newVersions: [DocumentPath: SnapshotVersion] = [:]
        for document in snapshot.documents {
            if !document.hasPendingWrites {
                let state = client.audit.ledger.state(
                    of: document.path, madeAt: document.version)
                expect(
                    state.map { $0.fields == document.fields } ?? false,
                    "\(document.path) never was \(document.fields) at \(document.version)")
            }
            let version = document.version
            let last = versions[document.path] ?? .none
            expect(version.isNone || version >= last, "\(document.path) went back to \(version)")
            newVersions[document.path] = max(version, last)
        }
        versions = newVersions
        expect(
            snapshot.mutatedKeys.allSatisfy { snapshot.documents.contains($0) },
            "pending writes of others: \(snapshot.mutatedKeys)")
        expect(
            snapshot.documents.allSatisfy {
                !$0.hasLocalMutations || snapshot.mutatedKeys.contains($0.path)
            }, "pending writes that are not told")
    }

    /// Checks that a result that is not from the cache is the backend's as of the snapshot's read
    /// time, except for documents of which the client has a newer version: other queries may have
    /// cached it.
    ///
    /// Documents that the client itself has changed since are not compared: the local result of an
    /// acknowledged write stays until the backend sends the document. Inside a limit they may have
    /// displaced others.
    private func checkSync(of snapshot: ViewSnapshot) {
        guard !snapshot.isFromCache else { return }
        guard !client.mayDifferFromBackend, !snapshot.hasPendingWrites else { return }
        expect(!snapshot.readTime.isNone, "synced as of no snapshot")
        let audit = client.audit
        let others = audit.ledger.paths.filter { path in
            !audit.hasCommit(to: path, by: client.number, after: snapshot.readTime)
        }
        let mayLack = query.limit != nil && others.count < audit.ledger.paths.count
        let paths = snapshot.documents.map(\.path)
        var shown: [DocumentPath: MapValue] = [:]
        for document in snapshot.documents { shown[document.path] = document.fields }
        for path in others {
            let states = audit.ledger.states(
                of: path, from: snapshot.readTime, through: client.network.lastSnapshotVersion)
            if let fields = shown[path] {
                expect(states.contains(fields), "\(path) of \(snapshot.readTime) is another")
            } else if !mayLack {
                // It was not there, or not in the result.
                let isOutside = states.contains { fields in
                    guard let fields else { return true }
                    var documents = shown
                    documents[path] = fields
                    return evaluator.documents(among: documents) == paths
                }
                expect(isOutside, "\(path) of \(snapshot.readTime) is missing")
            }
        }
    }
}

extension ViewSnapshot {
    /// The snapshot on one line.
    var summary: String {
        let documents = documents.map { document in
            "\(document.path)@\(document.version)\(document.hasLocalMutations ? "L" : "")"
                + "\(document.hasCommittedMutations ? "C" : "") \(document.fields)"
        }
        return "\(isFromCache ? "cached" : "synced")\(hasPendingWrites ? " pending" : "") "
            + "\(changes.map { "\($0.kind) \($0.document.path)" }) of \(documents)"
    }
}
