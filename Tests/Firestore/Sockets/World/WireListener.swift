import Foundation
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization

@testable import Larder

/// A listener of a query that checks each snapshot that it receives.
final class WireListener: Sendable {
    /// What it was told last.
    struct Last: Sendable {
        var isFromCache: Bool
        var hasPendingWrites: Bool
        var documents: [DocumentPath: Record]
    }

    private struct State {
        var registration: (any ListenerRegistration)?
        var isOver = false
        var last: Last?
        /// The documents according to the changes of snapshots.
        var list: [Entry] = []
        var versions: [DocumentPath: SnapshotVersion] = [:]
    }

    private struct Entry: Equatable {
        var path: DocumentPath
        var record: Record?
    }

    let name: String
    private let query: LarderQuery.Query
    let includesMetadata: Bool
    private let ledger: WireLedger
    private let queue: DispatchQueue
    private let evaluator: NaiveEvaluator
    private let state = Mutex(State())
    private let news: AsyncStream<Void>
    private let newsFeed: AsyncStream<Void>.Continuation

    /// Listens from now on.
    init(
        _ name: String, to query: Larder.Query, includesMetadata: Bool, _ ledger: WireLedger
    ) throws {
        self.query = try query.executable.get()
        self.name = "\(name) listening to \(self.query.canonicalID)"
        self.includesMetadata = includesMetadata
        self.ledger = ledger
        queue = query.firestore.callbackQueue
        evaluator = NaiveEvaluator(self.query)
        (news, newsFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        let registration = query.addSnapshotListener(includeMetadataChanges: includesMetadata) {
            [weak self] snapshot, error in self?.receive(snapshot, error)
        }
        state.withLock { $0.registration = registration }
    }

    /// Ends listening; on the queue of its calls, so that it is in the middle of none.
    func end() {
        queue.sync {
            state.withLock { $0.registration }?.remove()
            state.withLock { $0.isOver = true }
        }
    }

    /// What it was told last; nil for nothing.
    var last: Last? { state.withLock { $0.last } }

    /// Waits until what it was told last is as a condition says, or the task is cancelled.
    func wait(_ condition: (Last) -> Bool) async {
        if last.map(condition) == true { return }
        for await _ in news where last.map(condition) == true { return }
    }

    /// What it is to be told at the end.
    func expected(among documents: [DocumentPath: Record]) -> [DocumentPath: Record] {
        let paths = Set(evaluator.documents(among: documents.mapValues(\.fields)))
        return documents.filter { paths.contains($0.key) }
    }

    private func expect(_ holds: Bool, _ promise: @autoclosure () -> String) {
        ledger.expect(holds, "\(name): \(promise())")
    }

    private func receive(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
        expect(!state.withLock { $0.isOver }, "told after its end")
        guard let snapshot else { return expect(false, "\(error.map { "\($0)" } ?? "nothing")") }
        let sightings = snapshot.documents.compactMap(\.document).map {
            WireLedger.Sighting(
                path: $0.path, version: $0.version, record: $0.record,
                isPending: $0.hasPendingWrites)
        }
        ledger.note(sightings, by: name)
        checkChanges(of: snapshot, sightings)
        checkDocuments(sightings)
        let metadata = snapshot.metadata
        if !metadata.isFromCache, let readTime = metadata.freshness.readTime {
            ledger.note(
                .init(
                    name: name, query: query, readTime: SnapshotVersion(readTime),
                    documents: sightings))
        }
        let documents = Dictionary(
            sightings.compactMap { sighting in sighting.record.map { (sighting.path, $0) } },
            uniquingKeysWith: { first, _ in first })
        state.withLock {
            $0.last = Last(
                isFromCache: metadata.isFromCache, hasPendingWrites: metadata.hasPendingWrites,
                documents: documents)
        }
        newsFeed.yield()
    }

    /// Checks that the changes lead from the last snapshot to this one, and that there are some.
    private func checkChanges(of snapshot: QuerySnapshot, _ sightings: [WireLedger.Sighting]) {
        var (last, list) = state.withLock { ($0.last, $0.list) }
        let changes = snapshot.documentChanges(includeMetadataChanges: includesMetadata)
        if let last {
            let isNews =
                !changes.isEmpty
                || includesMetadata
                    && (last.isFromCache != snapshot.metadata.isFromCache
                        || last.hasPendingWrites != snapshot.metadata.hasPendingWrites)
            expect(isNews, "told the same again")
        }
        for change in changes {
            if change.type != .added {
                guard change.oldIndex < list.count else {
                    return expect(false, "a change of what is not there: \(change.oldIndex)")
                }
                let old = list.remove(at: Int(change.oldIndex))
                expect(old.path == change.document.path, "\(old.path) is another document")
            }
            if change.type != .removed {
                guard change.newIndex <= list.count else {
                    return expect(false, "a change beyond the end: \(change.newIndex)")
                }
                list.insert(
                    Entry(path: change.document.path, record: change.document.document?.record),
                    at: Int(change.newIndex))
            }
        }
        expect(
            list == sightings.map { Entry(path: $0.path, record: $0.record) },
            "the changes lead to \(list.map(\.path)), not to \(sightings.map(\.path))")
        state.withLock { [list] in $0.list = list }
    }

    /// Documents match and are in order, and none goes back.
    private func checkDocuments(_ sightings: [WireLedger.Sighting]) {
        let fields = Dictionary(
            sightings.map { ($0.path, $0.record?.fields ?? MapValue()) },
            uniquingKeysWith: { first, _ in first })
        let expected = evaluator.documents(among: fields)
        expect(
            expected == sightings.map(\.path), "\(sightings.map(\.path)) should be \(expected)")
        let last = state.withLock { state in
            defer {
                state.versions = Dictionary(
                    sightings.map { ($0.path, max($0.version, state.versions[$0.path] ?? .none)) },
                    uniquingKeysWith: { first, _ in first })
            }
            return state.versions
        }
        for sighting in sightings {
            expect(
                sighting.version == .none || sighting.version >= last[sighting.path] ?? .none,
                "\(sighting.path) went back to \(sighting.version)")
        }
    }
}
