import LarderModel
import LarderQuery
import LarderRemote
import Synchronization

/// A backend that says on the watch stream what it is told to say, on the thread that tells it.
///
/// Targets are answered at once. Anything else it does not do.
final class ScriptedBackend: Remote {
    private struct State {
        var listener: Listener?
        var targets: [QueryTarget: Int32] = [:]
        /// Seconds of the last snapshot's version.
        var lastVersion: Int64 = 1_800_000_000
    }

    /// Handed out without an allocation, as a closure alone is not.
    private struct Listener {
        let hear: @Sendable (WatchEvent) -> Void
    }

    private let state = Mutex(State())
    /// How many targets were asked for.
    let asked = Counter()

    /// The number that a target was asked for by.
    func targetID(_ target: QueryTarget) -> Int32? { state.withLock { $0.targets[target] } }

    /// A version after all that were given before.
    func newVersion() -> SnapshotVersion {
        state.withLock { state in
            state.lastVersion += 1
            return SnapshotVersion(Timestamp(unchecked: state.lastVersion, 0))
        }
    }

    /// Says something on the watch stream.
    func say(_ event: WatchEvent) {
        state.withLock { $0.listener }?.hear(event)
    }

    /// Says one thing after the other on the watch stream.
    func say(_ responses: [WatchResponse]) {
        let listener = state.withLock { $0.listener }
        for response in responses { listener?.hear(.response(response)) }
    }

    /// What ends a snapshot: all targets are told up to a version.
    static func snapshot(_ version: SnapshotVersion) -> WatchResponse {
        .targets(
            TargetChange(
                .none, resumeToken: Array("\(version.timestamp.seconds)".utf8), readTime: version))
    }

    /// All that targets have was told.
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
