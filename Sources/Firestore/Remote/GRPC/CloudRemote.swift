import LarderModel
import LarderQuery
import LarderRemote
import LarderWire
import Synchronization

/// The remote of a client's engine over gRPC.
final class CloudRemote: Remote {
    let caller: CloudCaller
    let calls = OpenCalls()

    private typealias Method = Google_Firestore_V1_Firestore.Method

    init(_ configuration: CloudFirestoreConfiguration) throws(LarderError) {
        caller = try CloudCaller(configuration)
    }

    deinit {
        calls.cancel()
        caller.tokens.close()
    }

    var database: DatabaseID { caller.configuration.databaseID }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        CloudWatchStream(caller, calls, as: credentials, handler)
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        CloudWriteStream(caller, calls, as: credentials, handler)
    }

    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            guard !paths.isEmpty else { return [] }
            let answers = try await caller.answers(
                Method.BatchGetDocuments.descriptor,
                MessageCoder(database).encode(reading: paths),
                of: Google_Firestore_V1_BatchGetDocumentsResponse.self, as: credentials)
            let coder = MessageCoder(database, limits: .responses)
            var readings: [DocumentPath: DocumentReading] = [:]
            for answer in answers {
                guard let reading = try coder.decode(answer) else { continue }
                readings[reading.path] = reading
            }
            var ordered: [DocumentReading] = []
            ordered.reserveCapacity(paths.count)
            for path in paths {
                guard let reading = readings[path] else {
                    throw LarderError(
                        .internal, "the backend's response lacks the document '\(path)'")
                }
                ordered.append(reading)
            }
            return ordered
        }
    }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            let answer = try await caller.answer(
                Method.Commit.descriptor, try MessageCoder(database).encode(committing: mutations),
                of: Google_Firestore_V1_CommitResponse.self, as: credentials)
            let response = try MessageCoder(database).decode(answer)
            guard response.results.count == mutations.count else {
                throw LarderError(
                    .internal,
                    "the backend returned \(response.results.count) results for \(mutations.count) writes"
                )
            }
            return response
        }
    }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            let answers = try await caller.answers(
                Method.RunAggregationQuery.descriptor,
                try MessageCoder(database).encode(aggregates, over: target),
                of: Google_Firestore_V1_RunAggregationQueryResponse.self, as: credentials)
            guard let answer = answers.first(where: \.hasResult) else {
                throw LarderError(.internal, "the backend's response to an aggregation is empty")
            }
            return try MessageCoder(database).decode(answer, count: aggregates.count)
        }
    }

    func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            let answer = try await caller.answer(
                Method.BatchWrite.descriptor,
                try MessageCoder(database).encode(committingEach: mutations),
                of: Google_Firestore_V1_BatchWriteResponse.self, as: credentials)
            return try MessageCoder(database).decode(answer, count: mutations.count)
        }
    }

    func invalidateToken() {
        caller.tokens.invalidate()
    }

    /// Refuses new calls, ends open ones or waits for them, and closes the connection.
    func close(waitingForCalls isWaiting: Bool) async {
        caller.pool.refuse()
        calls.cancel(isWaiting ? .stream : nil)
        if !isWaiting { caller.tokens.close() }
        await calls.drain()
        caller.tokens.close()
        await caller.pool.close()
    }

    /// Runs a closure that ``close(waitingForCalls:)`` waits for or cancels.
    func holding<R: Sendable>(
        _ body: @escaping @Sendable () async throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let (results, feed) = AsyncStream.makeStream(of: Result<R, LarderError>.self)
        let task = answer({ feed.yield($0) }, body)
        let result = await withTaskCancellationHandler {
            await results.first { _ in true }
        } onCancel: {
            task.cancel()
        }
        return try (result ?? .failure(LarderError(.cancelled, "the call was cancelled"))).get()
    }

    /// Runs a closure on a task of its own and completes with its result.
    @discardableResult
    func answer<R: Sendable>(
        _ completion: @escaping @Sendable (Result<R, LarderError>) -> Void,
        _ body: @escaping @Sendable () async throws(LarderError) -> R
    ) -> Task<Void, Never> {
        calls.start(.call) {
            let result: Result<R, LarderError>
            do throws(LarderError) {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            completion(result)
        }
    }
}

// MARK: - Open calls

/// The running tasks of a connection; thread-safe.
final class OpenCalls: Sendable {
    enum Kind: Sendable {
        case stream
        case call
    }

    private struct State {
        var tasks: [UInt64: (kind: Kind, task: Task<Void, Never>)] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Starts a task and retains it until its end.
    @discardableResult
    func start(
        _ kind: Kind, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            // The task cannot remove itself before it is added: removal needs the lock.
            let task = Task { [self] in
                await body()
                _ = self.state.withLock { $0.tasks.removeValue(forKey: id) }
            }
            state.tasks[id] = (kind, task)
            return task
        }
    }

    /// Cancels the tasks of a kind, or all.
    func cancel(_ kind: Kind? = nil) {
        let tasks = state.withLock { state in
            state.tasks.values.filter { kind == nil || $0.kind == kind }.map(\.task)
        }
        for task in tasks { task.cancel() }
    }

    /// Waits for all current tasks.
    func drain() async {
        for task in state.withLock({ $0.tasks.values.map(\.task) }) { await task.value }
    }

    var count: Int { state.withLock { $0.tasks.count } }
}
