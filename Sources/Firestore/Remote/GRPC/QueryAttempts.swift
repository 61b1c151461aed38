import GRPCCore
import LarderModel
import LarderRemote
import LarderWire

/// A query at the host, retried until the first result.
///
/// Transient failures are retried with the backoff of streams. After the first document a failure
/// is final: a retry would deliver it again.
struct QueryAttempts: Sendable {
    private typealias Method = Google_Firestore_V1_Firestore.Method
    private typealias Response = Google_Firestore_V1_RunQueryResponse

    /// The maximum of a transaction.
    private static let maxAttempts = 5

    let caller: CloudCaller
    let credentials: Credentials
    let request: Google_Firestore_V1_RunQueryRequest
    let uptime: @Sendable () -> Duration
    let pause: @Sendable (Duration) async throws -> Void
    let body: @Sendable (DocumentReading) async throws(LarderError) -> Void

    private let hasGiven = AtomicFlag()

    init(
        _ caller: CloudCaller, as credentials: Credentials,
        _ request: Google_Firestore_V1_RunQueryRequest,
        uptime: @escaping @Sendable () -> Duration,
        pause: @escaping @Sendable (Duration) async throws -> Void,
        _ body: @escaping @Sendable (DocumentReading) async throws(LarderError) -> Void
    ) {
        (self.caller, self.credentials, self.request) = (caller, credentials, request)
        (self.uptime, self.pause, self.body) = (uptime, pause, body)
    }

    /// Runs it.
    ///
    /// - Returns: the read time.
    /// - Throws: the error of the last attempt or the closure.
    func run() async throws(LarderError) -> SnapshotVersion {
        var backoff = Backoff.firestore
        for attempt in 1... {
            try await wait(
                backoff.nextDelay(now: uptime(), jitter: .random(in: -0.5...0.5)))
            do throws(LarderError) {
                return try await caller.believed(Method.RunQuery.descriptor) {
                    () async throws(LarderError) in try await once()
                }
            } catch {
                guard error.kind.passes, attempt < Self.maxAttempts, !hasGiven.isSet,
                    !Task.isCancelled, !caller.pool.isClosed
                else { throw error }
                if error.kind == .resourceExhausted { backoff.resetToMax() }
            }
        }
        return .none
    }

    private func wait(_ duration: Duration) async throws(LarderError) {
        guard duration > .zero else { return }
        do {
            try await pause(duration)
        } catch {
            throw LarderError(.cancelled, "the call was cancelled", cause: error)
        }
    }

    private func once() async throws(LarderError) -> SnapshotVersion {
        let (body, hasGiven, database) = (body, hasGiven, caller.configuration.databaseID)
        guard !hasGiven.isSet else {
            throw LarderError(.unavailable, "the response to a query is incomplete")
        }
        // Without a time limit: the duration depends on the consumer of the documents.
        return try await caller.once(
            Method.RunQuery.descriptor, request, as: credentials, isBounded: false
        ) { (messages: RPCAsyncSequence<Response, any Error>) in
            let coder = MessageCoder(database, limits: .responses)
            var version = SnapshotVersion.none
            for try await message in messages {
                if message.hasReadTime {
                    version = try coder.answer { () throws(LarderError) in
                        try SnapshotVersion(message.readTime)
                    }
                }
                guard message.hasDocument else { continue }
                hasGiven.set()
                try await body(try coder.decode(found: message.document))
            }
            return version
        }
    }
}

extension LarderError.Code {
    /// Whether the same call may succeed later.
    fileprivate var passes: Bool {
        switch self {
        case .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .internal, .unavailable,
            .unauthenticated:
            true
        default: false
        }
    }
}
