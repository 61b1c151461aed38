import Dispatch
package import LarderModel
package import LarderQuery
package import LarderRemote
import Synchronization

/// A backend behind a network that a test can make fail.
package final class UnreliableRemote: Remote {
    /// Whether clients reach the backend.
    package enum Network: Sendable {
        /// They do.
        case up
        /// They fail at once.
        case down
        /// They receive no answer.
        case silent
    }

    private struct State {
        var network = Network.up
        var streams: [WeakStream] = []
        var refusals: [LarderError] = []
        var users: [String] = []
        var writtenBatchCount = 0
    }

    private struct WeakStream {
        weak var stream: (any UnreliableStream)?
    }

    private let base: any Remote
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "unreliable remote")

    /// A network, up to begin with, before a backend.
    package init(_ base: RemoteConnection) {
        self.base = base.remote
    }

    /// What a database takes.
    package var connection: RemoteConnection { RemoteConnection(self) }

    static let unreachable = LarderError(.unavailable, "the backend is out of reach")

    // MARK: What tests do

    /// Makes the backend reachable or not; streams that are open end when it is not.
    package func set(_ network: Network) {
        let cut = state.withLock { state in
            state.network = network
            guard network == .down else { return [any UnreliableStream]() }
            defer { state.streams = [] }
            return state.streams.compactMap(\.stream)
        }
        for stream in cut { stream.cut(Self.unreachable) }
    }

    /// Has the next writes of write streams refused, each with one of these.
    package func refuseWrites(with errors: [LarderError]) {
        state.withLock { $0.refusals += errors }
    }

    /// The users as whom watch streams were opened, in order.
    package var users: [String] { state.withLock { $0.users } }

    /// How many batches were sent on write streams.
    package var writtenBatchCount: Int { state.withLock { $0.writtenBatchCount } }

    func takeRefusal() -> LarderError? {
        state.withLock { state in
            state.writtenBatchCount += 1
            return state.refusals.isEmpty ? nil : state.refusals.removeFirst()
        }
    }

    // MARK: Streams

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        let stream = UnreliableWatchStream(queue, handler)
        state.withLock { $0.users.append(credentials.userID) }
        open(stream) {
            stream.base = base.openWatchStream(as: credentials) { [weak stream] event in
                stream?.pass(event)
            }
        }
        return stream
    }

    package func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        let stream = UnreliableWriteStream(queue, handler) { [weak self] in self?.takeRefusal() }
        open(stream) {
            stream.base = base.openWriteStream(as: credentials) { [weak stream] event in
                stream?.pass(event)
            }
        }
        return stream
    }

    private func open(_ stream: any UnreliableStream, _ body: () -> Void) {
        let network = state.withLock { state in
            if state.network == .up { state.streams.append(WeakStream(stream: stream)) }
            return state.network
        }
        switch network {
        case .up: body()
        case .down: stream.cut(Self.unreachable)
        case .silent: break
        }
    }

    // MARK: Single calls

    package func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        call(completion) { base.read(paths, as: credentials, completion) }
    }

    package func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        call(completion) { base.commit(mutations, as: credentials, completion) }
    }

    package func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        call(completion) { base.aggregate(aggregates, over: target, as: credentials, completion) }
    }

    package func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) {
        call(completion) { base.run(selection, as: credentials, completion) }
    }

    package func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) {
        call(completion) { base.listCollectionIDs(below: parent, as: credentials, completion) }
    }

    package func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        call(completion) { base.listDocuments(in: collection, as: credentials, completion) }
    }

    package func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        call(completion) { base.list(page, as: credentials, completion) }
    }

    package func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) {
        call(completion) { base.commitEach(mutations, as: credentials, completion) }
    }

    package func invalidateToken() { base.invalidateToken() }

    private func call<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, LarderError>) -> Void, _ body: () -> Void
    ) {
        switch state.withLock({ $0.network }) {
        case .up: body()
        case .down: queue.async { completion(.failure(Self.unreachable)) }
        case .silent: break
        }
    }
}
