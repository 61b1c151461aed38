import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization

/// What all clients together have seen of the server's documents, and the promises that were
/// broken.
///
/// A document of a version is the same for everybody. What a client says it knows to be right as of
/// a moment has everything that anybody saw of the time before, but for what it knows to match no
/// longer.
final class WireLedger: Sendable {
    /// A document that a listener received.
    struct Sighting: Sendable {
        var path: DocumentPath
        var version: SnapshotVersion
        var record: Record?
        /// Whether a client's own writes are in it.
        var isPending: Bool
    }

    /// What a listener was told to be right as of a moment.
    struct Moment: Sendable {
        var name: String
        var query: Query
        var readTime: SnapshotVersion
        var documents: [Sighting]
    }

    /// A document as a client saw it first.
    private struct Known {
        var record: Record?
        var name: String
    }

    private struct State {
        var documents: [DocumentPath: [SnapshotVersion: Known]] = [:]
        var moments: [Moment] = []
        var violations: [String] = []
    }

    private let state = Mutex(State())

    /// The promises that were broken.
    var violations: [String] { state.withLock { $0.violations } }

    /// Notes a broken promise, unless it holds.
    func expect(_ holds: Bool, _ promise: @autoclosure () -> String) {
        guard !holds else { return }
        let promise = promise()
        state.withLock { $0.violations.append(promise) }
    }

    /// Takes what a listener saw.
    func note(_ sightings: [Sighting], by name: String) {
        for sighting in sightings where !sighting.isPending {
            let known = state.withLock { state in
                let known = state.documents[sighting.path]?[sighting.version]
                if known == nil {
                    state.documents[sighting.path, default: [:]][sighting.version] = Known(
                        record: sighting.record, name: name)
                }
                return known
            }
            expect(
                known.map { $0.record == sighting.record } ?? true,
                "\(name): \(sighting.path) of \(sighting.version) is not what "
                    + "\(known?.name ?? "nobody") saw")
        }
    }

    /// Takes what a listener was told to be right.
    func note(_ moment: Moment) {
        state.withLock { $0.moments.append(moment) }
    }

    /// Compares what listeners were told to be right with what others have seen.
    ///
    /// - Parameters:
    ///   - isKept: whether a document is never deleted.
    ///   - isForeign: whether it is one that no client writes: with a client's own pending write a
    ///     document may match a query no longer.
    func check(isKept: (DocumentPath) -> Bool, isForeign: (DocumentPath) -> Bool) {
        let (documents, moments) = state.withLock { ($0.documents, $0.moments) }
        for moment in moments {
            let found = Dictionary(
                moment.documents.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
            let evaluator = NaiveEvaluator(moment.query)
            for (path, states) in documents {
                guard
                    let (version, known) = states.filter({ $0.key <= moment.readTime })
                        .max(by: { $0.key < $1.key })
                else { continue }
                if let sighting = found[path] {
                    // A write that is sent again, its answer lost, may bring back what was there:
                    // then nothing changes for who listens.
                    expect(
                        sighting.isPending || sighting.version >= version
                            || sighting.record == known.record,
                        "\(moment.name) has \(path) of \(sighting.version) at "
                            + "\(moment.readTime), and missed \(version), which "
                            + "\(known.name) saw")
                } else if moment.query.limit == nil, isKept(path), let fields = known.record?.fields
                {
                    guard moment.query.filters.isEmpty || isForeign(path) else { continue }
                    // Another query may have brought what is newer into the client's cache.
                    let mayBeGone = states.contains { version, known in
                        version > moment.readTime
                            && !(known.record.map { evaluator.matches(path, $0.fields) } ?? false)
                    }
                    expect(
                        mayBeGone || !evaluator.matches(path, fields),
                        "\(moment.name) at \(moment.readTime) missed \(path) of \(version)")
                }
            }
        }
    }

    /// How many moments were compared.
    var momentCount: Int { state.withLock { $0.moments.count } }
}
