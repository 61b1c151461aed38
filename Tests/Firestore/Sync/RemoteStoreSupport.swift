import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import Testing

@testable import LarderSync

/// A network side whose effects are looked at as text.
///
///     open watch 1 · close watch · add 2 token 5 expects 3 · remove 2 · set write_stream_idle 60.0
struct RemoteStoreUnderTest {
    var store: RemoteStore
    /// The documents that the backend is known to have, by target.
    var remoteKeys: [Int32: TreeSet<DocumentPath>] = [:]
    /// The events that were applied.
    private(set) var events: [RemoteEvent] = []

    init() {
        store = RemoteStore(databaseID: DatabaseID(project: "p"), jitter: { 0.5 })
    }

    /// The last stream that was opened.
    var watchGeneration: Int { store.watchStream.generation }

    /// The last stream that was opened.
    var writeGeneration: Int { store.writeStream.generation }

    /// What is to be done since the last call.
    mutating func effects() -> [String] {
        let effects = store.takeEffects()
        for effect in effects {
            if case .apply(let event) = effect { events.append(event) }
        }
        return effects.map(\.text)
    }

    mutating func listen(_ id: Int32, token: [UInt8] = [], version: Int64 = 0) {
        let remoteKeys = remoteKeys
        store.listen(.test(id, token: token, version: version)) { remoteKeys[$0] ?? [] }
    }

    mutating func watch(_ event: WatchEvent) {
        let remoteKeys = remoteKeys
        store.handle(event, generation: watchGeneration) { remoteKeys[$0] ?? [] }
    }

    mutating func watch(
        _ kind: TargetChange.Kind, _ ids: [Int32] = [], token: [UInt8] = [], at time: Int64 = 0
    ) {
        watch(
            .response(
                .targets(
                    TargetChange(
                        kind, targetIDs: ids, resumeToken: token, readTime: .test(time)))))
    }

    /// Takes a batch back, which must be possible or not.
    mutating func forget(
        _ id: Int64, is possible: Bool, _ location: SourceLocation = #_sourceLocation
    ) {
        let isForgotten = store.forget(batchID: id)
        #expect(isForgotten == possible, sourceLocation: location)
    }

    /// Gives up on a batch, which must be under way or not.
    mutating func reject(
        _ id: Int64, is possible: Bool, _ location: SourceLocation = #_sourceLocation
    ) {
        let isRejected = store.reject(batchID: id, LarderError(.internal, "given up"))
        #expect(isRejected == possible, sourceLocation: location)
    }

    mutating func write(_ event: WriteEvent) {
        store.handle(event, generation: writeGeneration)
    }

    mutating func commit(_ id: Int64, results: Int = 1, token: [UInt8] = [2]) {
        let response = CommitResponse(
            commitVersion: .test(id),
            results: (0..<results).map { _ in MutationResult(version: .test(id)) })
        write(.committed(response, streamToken: token))
    }

    /// A store with an open watch stream that watches targets, all of them acknowledged.
    static func watching(_ ids: Int32...) -> RemoteStoreUnderTest {
        var test = RemoteStoreUnderTest()
        for id in ids { test.listen(id) }
        _ = test.effects()
        test.watch(.opened)
        test.watch(.added, ids)
        _ = test.effects()
        return test
    }

    /// A store with an open write stream on which batches were sent.
    static func writing(_ ids: Int64...) throws -> RemoteStoreUnderTest {
        var test = RemoteStoreUnderTest()
        test.store.add(try ids.map { try .test($0) })
        _ = test.effects()
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        _ = test.effects()
        return test
    }
}

extension SnapshotVersion {
    /// The microseconds that it was made of for a test.
    fileprivate var microseconds: Int64 {
        timestamp.seconds * 1_000_000 + Int64(timestamp.nanoseconds) / 1_000
    }
}

extension TargetData {
    /// A target for all of a collection.
    static func test(_ id: Int32, token: [UInt8] = [], version: Int64 = 0) -> TargetData {
        TargetData(
            id: id, target: Query(.group("c\(id)")).target, resumeToken: token,
            snapshotVersion: .test(version))
    }
}

extension MutationBatch {
    /// A batch that deletes documents, named after it.
    static func test(_ id: Int64, mutations: Int = 1) throws -> MutationBatch {
        test(
            id,
            try (0..<mutations).map { Mutation(.delete, at: try DocumentPath("c/\(id)-\($0)")) })
    }

    /// A batch of mutations.
    static func test(_ id: Int64, _ mutations: [Mutation]) -> MutationBatch {
        MutationBatch(
            id: id, localWriteTime: .epoch, mutations: mutations, attemptCount: 0,
            lastAttempt: nil, lastError: nil)
    }
}

extension RemoteStore.Effect {
    /// The effect in words.
    var text: String {
        switch self {
        case .openWatchStream(let generation): "open watch \(generation)"
        case .closeWatchStream: "close watch"
        case .sendWatch(.add(let target)): target.text
        case .sendWatch(.remove(let id)): "remove \(id)"
        case .openWriteStream(let generation): "open write \(generation)"
        case .closeWriteStream: "close write"
        case .sendWrite(.handshake): "handshake"
        case .sendWrite(.write(let mutations, let token, _)):
            "write \(mutations.map(\.path.string)) token \(token)"
        case .schedule(let timer, let delay): "set \(timer.rawValue) \(delay)"
        case .cancel(let timer): "cancel \(timer.rawValue)"
        case .invalidateToken: "invalidate token"
        case .onlineState(let state): state.text
        case .apply(let event): "apply \(event.version.microseconds)"
        case .rejectTarget(let id, let error): "reject target \(id): \(error.kind)"
        case .acknowledge(let batchID, let response):
            "acknowledge \(batchID) at \(response.commitVersion.microseconds)"
        case .reject(let id, let error): "reject \(id): \(error.kind)"
        case .attemptFailed(let id, let error, let wasSent):
            "attempt \(id)\(wasSent ? "" : " unsent"): \(error.kind)"
        case .wantsWrites(let id, let count): "wants \(count) after \(id)"
        case .warn: "warn"
        }
    }
}

extension WatchTarget {
    fileprivate var text: String {
        var text = "add \(id)"
        switch resumption {
        case .none: break
        case .token(let token): text += " token \(token)"
        case .readTime(let version): text += " time \(version.microseconds)"
        }
        if let expectedCount { text += " expects \(expectedCount)" }
        if purpose != .listen { text += " for \(purpose)" }
        return text
    }
}

extension NetworkState {
    /// `online: answered`, and `for listeners: unknown` where that is another state.
    fileprivate var text: String {
        var text = "\(state): \(reason.text)"
        if listenerState != state { text += " for listeners: \(listenerState)" }
        if isSilent { text += " silent" }
        return text
    }
}

extension NetworkReason {
    fileprivate var text: String {
        switch self {
        case .notAsked: "not asked"
        case .connecting: "connecting"
        case .answered: "answered"
        case .disabled(let causes): "disabled \(causes.rawValue)"
        case .streamFailed(let error): "failed \(error.kind)"
        case .timedOut: "timed out"
        }
    }
}
