import LarderModel
import LarderQuery
import LarderRemote
import Synchronization

/// A backend that sends scripted responses on the watch stream, on the calling thread.
///
/// It adds targets immediately and does nothing else.
final class ScriptedBackend: Remote {
    private struct State {
        var listener: Listener?
        var targets: [QueryTarget: Int32] = [:]
        /// Seconds of the last snapshot's version.
        var lastVersion: Int64 = 1_800_000_000
    }

    /// Passed without an allocation, unlike a closure alone.
    private struct Listener {
        let hear: @Sendable (WatchEvent) -> Void
    }

    private let state = Mutex(State())
    /// The number of added targets.
    let asked = Counter()

    /// The target ID of a target.
    func targetID(_ target: QueryTarget) -> Int32? { state.withLock { $0.targets[target] } }

    /// A version later than all earlier ones.
    func newVersion() -> SnapshotVersion {
        state.withLock { state in
            state.lastVersion += 1
            return SnapshotVersion(Timestamp(unchecked: state.lastVersion, 0))
        }
    }

    /// Sends an event on the watch stream.
    func say(_ event: WatchEvent) {
        state.withLock { $0.listener }?.hear(event)
    }

    /// Sends responses on the watch stream.
    func say(_ responses: [WatchResponse]) {
        let listener = state.withLock { $0.listener }
        for response in responses { listener?.hear(.response(response)) }
    }

    /// The end of a snapshot at a version.
    static func snapshot(_ version: SnapshotVersion) -> WatchResponse {
        .targets(
            TargetChange(
                .none, resumeToken: Array("\(version.timestamp.seconds)".utf8), readTime: version))
    }

    /// Reports targets as current.
    static func current(_ ids: [Int32], _ version: SnapshotVersion) -> WatchResponse {
        .targets(
            TargetChange(
                .current, targetIDs: ids,
                resumeToken: Array("\(version.timestamp.seconds)".utf8)))
    }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        state.withLock { $0.listener = Listener(hear: handler) }
        handler(.opened)
        return Stream(self)
    }

    fileprivate func receive(_ request: WatchRequest) {
        let (id, kind) = state.withLock { state -> (Int32, TargetChange.Kind) in
            switch request {
            case .add(let target):
                state.targets[target.target] = target.id
                return (target.id, .added)
            case .remove(let id): return (id, .removed(nil))
            }
        }
        say([.targets(TargetChange(kind, targetIDs: [id]))])
        if kind == .added { asked.add() }
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream { Stream(self) }

    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) { completion(.failure(Self.refusal)) }

    func invalidateToken() {}

    private static let refusal = LarderError(.unavailable, "the script has no answer")
}

private final class Stream: WatchStream, WriteStream {
    private let backend: ScriptedBackend

    init(_ backend: ScriptedBackend) { self.backend = backend }

    func send(_ request: WatchRequest) { backend.receive(request) }

    func send(_ request: WriteRequest) {}

    func demand(_ count: Int) {}

    func close() {}
}
