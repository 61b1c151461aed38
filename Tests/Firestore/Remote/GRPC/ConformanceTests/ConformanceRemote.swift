import Dispatch
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization

/// A backend that agrees to everything, notes what it is asked, and says what a test says.
final class ConformanceRemote: RemoteWithoutDirectCalls {
    /// Writes of streams, and commits, in order.
    let writes = Awaited<[[Mutation]]>([])
    /// Targets that clients watch, with what to tell them.
    let targets = Awaited<[WatchTarget]>([])
    /// What reads find: the version of a document, none for a document that does not exist.
    let version: SnapshotVersion
    /// Whether targets are left to the test, apart from those that look for one document.
    let isManual: Bool
    private let watcher = Mutex<WatchSide?>(nil)
    private let lastReadTime = Mutex(SnapshotVersion(Timestamp(seconds: 9000, nanoseconds: 0)))
    private let lastCommitSeconds = Atomic<Int64>(2000)
    fileprivate let queue = DispatchQueue(label: "scripted remote")

    init(version: SnapshotVersion = .none, isManual: Bool = false) {
        self.version = version
        self.isManual = isManual
    }

    /// Says something on the watch stream.
    func say(_ response: WatchResponse) {
        if case .targets(let change) = response, change.targetIDs.isEmpty, !change.readTime.isNone {
            lastReadTime.withLock { $0 = change.readTime }
        }
        watcher.withLock { $0 }?.say(response)
    }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        let side = WatchSide(self, handler)
        watcher.withLock { $0 = side }
        queue.async { handler(.opened) }
        return side
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        queue.async { handler(.opened) }
        return WriteSide(self, handler)
    }

    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        let version = version
        queue.async {
            completion(
                Result { () throws(LarderError) in
                    let record = try Record([:])
                    return paths.map { path in
                        DocumentReading(
                            path: path,
                            contents: version.isNone ? .absent : .found(record, createTime: nil),
                            version: version)
                    }
                })
        }
    }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        let response = accept(mutations)
        queue.async { completion(.success(response)) }
    }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        queue.async { completion(.success(aggregates.map { _ in .integer(0) })) }
    }

    func invalidateToken() {}

    fileprivate func accept(_ mutations: [Mutation]) -> CommitResponse {
        // A client says goodbye to a stream with no writes.
        if !mutations.isEmpty { writes.change { $0.append(mutations) } }
        let time = lastCommitSeconds.add(1, ordering: .relaxed).newValue
        let version = SnapshotVersion(Timestamp(seconds: time, nanoseconds: 0))
        return CommitResponse(
            commitVersion: version,
            results: mutations.map { mutation in
                MutationResult(
                    version: version, transformResults: mutation.transforms.map { _ in .null })
            })
    }

    /// A stream has ended: neither holds the other any more.
    fileprivate func forget(_ side: WatchSide) {
        watcher.withLock { if $0 === side { $0 = nil } }
    }

    /// Answers a new target: at once, unless the test does.
    fileprivate func watch(_ target: WatchTarget, _ side: WatchSide) {
        side.say(.targets(TargetChange(.added, targetIDs: [target.id])))
        // Answers that wait for the target may mention it now.
        targets.change { $0.append(target) }
        guard !isManual || target.purpose == .limboResolution else { return }
        side.say(.targets(TargetChange(.current, targetIDs: [target.id], resumeToken: [1])))
        side.say(
            .targets(
                TargetChange(.none, resumeToken: [1], readTime: lastReadTime.withLock { $0 })))
    }
}

/// A watch stream; what it says does not wait for anybody.
private final class WatchSide: WatchStream {
    private let remote: ConformanceRemote
    private let handler: @Sendable (WatchEvent) -> Void
    private let isOpen = Mutex(true)

    init(_ remote: ConformanceRemote, _ handler: @escaping @Sendable (WatchEvent) -> Void) {
        self.remote = remote
        self.handler = handler
    }

    func say(_ response: WatchResponse) {
        remote.queue.async { [self] in
            if isOpen.withLock({ $0 }) { handler(.response(response)) }
        }
    }

    func send(_ request: WatchRequest) {
        switch request {
        case .add(let target): remote.watch(target, self)
        case .remove(let targetID):
            say(.targets(TargetChange(.removed(nil), targetIDs: [targetID])))
        }
    }

    func demand(_ count: Int) {}

    func close() {
        isOpen.withLock { $0 = false }
        remote.forget(self)
    }
}

/// A write stream.
private final class WriteSide: WriteStream {
    private let remote: ConformanceRemote
    private let handler: @Sendable (WriteEvent) -> Void
    private let isOpen = Mutex(true)

    init(_ remote: ConformanceRemote, _ handler: @escaping @Sendable (WriteEvent) -> Void) {
        self.remote = remote
        self.handler = handler
    }

    func send(_ request: WriteRequest) {
        let event: WriteEvent =
            switch request {
            case .handshake: .handshake(streamToken: [1])
            case .write(let mutations, _, _):
                .committed(remote.accept(mutations), streamToken: [2])
            }
        remote.queue.async { [self] in
            if isOpen.withLock({ $0 }) { handler(event) }
        }
    }

    func close() {
        isOpen.withLock { $0 = false }
    }
}
