import LarderModel
import LarderRemote
import LarderTestSupport
import SimulationSupport

/// The expected documents of a backend: every commit that it has answered, applied in order to
/// plain maps.
final class Ledger {
    /// A document from a version on.
    struct State {
        let version: SnapshotVersion
        /// Nil for a document that does not exist.
        let fields: MapValue?
    }

    private let journal: Journal
    private var histories: [DocumentPath: [State]] = [:]
    /// The versions of the commits, in order.
    private(set) var commits: [SnapshotVersion] = []
    /// The present documents.
    private(set) var documents: [DocumentPath: MapValue] = [:]

    /// No documents.
    init(journal: Journal) {
        self.journal = journal
    }

    /// Applies a commit.
    func commit(_ mutations: [Mutation], _ response: CommitResponse) {
        let version = response.commitVersion
        journal.expect(
            commits.last ?? .none < version, "commit \(version) after \(commits.last ?? .none)")
        commits.append(version)
        guard response.results.count == mutations.count else {
            return journal.fail(
                "\(response.results.count) results for \(mutations.count) mutations")
        }
        var versions: [DocumentPath: SnapshotVersion] = [:]
        for (mutation, result) in zip(mutations, response.results) {
            versions[mutation.path] = result.version
            apply(mutation, result, at: version)
        }
        for (path, told) in versions { note(path, told, at: version) }
    }

    private func apply(
        _ mutation: Mutation, _ result: MutationResult, at version: SnapshotVersion
    ) {
        let update = Mutation(mutation.operation, at: mutation.path)
        var fields = update.modelFields(over: documents[mutation.path]) { _, _ in .null }
        // Transforms see what the rest of the mutation has done.
        for (transform, told) in zip(mutation.transforms, result.transformResults) {
            var value = transform.operation.modelEstimate(
                fields?.value(at: transform.path), version.timestamp)
            if case .serverTimestamp = transform.operation {
                value = .timestamp(version.timestamp.modelServerTimestamp)
            }
            fields?.put(value, at: transform.path)
            switch transform.operation {
            // A backend does not report results that a client can compute.
            case .arrayUnion, .arrayRemove: continue
            default:
                journal.expect(
                    told == value, "\(mutation.path): \(transform) gave \(told), not \(value)")
            }
        }
        documents[mutation.path] = fields
    }

    private func note(_ path: DocumentPath, _ told: SnapshotVersion, at version: SnapshotVersion) {
        let fields = documents[path]
        let last = histories[path]?.last
        if told < version {
            // A mutation without an effect leaves the version as it was.
            journal.expect(
                last?.fields == fields && last?.version == told,
                "\(path) has changed at \(version) but is said to be of \(told)")
        } else {
            histories[path, default: []].append(State(version: version, fields: fields))
        }
    }

    // MARK: History

    /// The document as of a snapshot.
    func fields(of path: DocumentPath, asOf version: SnapshotVersion) -> MapValue? {
        histories[path]?.last { $0.version <= version }?.fields
    }

    /// The document of a commit at a version; nil if the commit did not change it.
    func state(of path: DocumentPath, madeAt version: SnapshotVersion) -> State? {
        histories[path]?.last { $0.version == version }
    }

    /// All documents that were ever written.
    var paths: Dictionary<DocumentPath, [State]>.Keys { histories.keys }

    /// A document as of a snapshot, and its later states until another one; nil for a document
    /// that does not exist.
    func states(
        of path: DocumentPath, from version: SnapshotVersion, through last: SnapshotVersion
    ) -> [MapValue?] {
        let history = histories[path] ?? []
        return [fields(of: path, asOf: version)]
            + history.filter { version < $0.version && $0.version <= last }.map(\.fields)
    }

    /// All documents as of a snapshot.
    func documents(asOf version: SnapshotVersion) -> [DocumentPath: MapValue] {
        histories.compactMapValues { history in
            history.last { $0.version <= version }?.fields
        }
    }
}
