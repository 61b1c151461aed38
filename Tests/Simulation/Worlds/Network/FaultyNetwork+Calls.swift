import LarderModel
import LarderQuery
import LarderRemote
import SimulationSupport

extension FaultyNetwork {
    func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        call(completion) { self.backend.remote.read(paths, as: credentials, $0) }
    }

    func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        call(completion) { [audit, number, backend] answer in
            backend.remote.commit(mutations, as: credentials) { result in
                if case .success(let response) = result {
                    audit.committed(mutations, response, by: number)
                }
                answer(result)
            }
        }
    }

    func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        call(completion) {
            self.backend.remote.aggregate(aggregates, over: target, as: credentials, $0)
        }
    }

    /// Makes a call that may fail before or after it has reached the backend.
    private func call<Answer: Sendable>(
        _ completion: @escaping @Sendable (Result<Answer, LarderError>) -> Void,
        _ body:
            @escaping @Sendable (@escaping @Sendable (Result<Answer, LarderError>) -> Void)
            -> Void
    ) {
        let fail: @Sendable (Duration) -> Void = { delay in
            self.events.schedule(after: delay) { completion(.failure(self.error())) }
        }
        events.schedule(after: conditions.latency()) { [self] in
            if conditions.isSilent { return fail(NetworkConditions.patience) }
            if conditions.isRefusing || faults.happens(.requestLost) {
                return fail(conditions.latency())
            }
            body { [self] result in
                if conditions.isSilent || faults.happens(.answerLost) {
                    return fail(NetworkConditions.patience)
                }
                events.schedule(after: conditions.latency()) { completion(result) }
            }
        }
    }
}
