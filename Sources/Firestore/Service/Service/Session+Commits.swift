import LarderBackend
import LarderModel
import LarderRemote
import Synchronization

extension Session {
    /// Makes changes each by itself, in their order, and gives what came of each.
    func commitEach(_ mutations: [Mutation]) async -> [Result<CommitResponse, LarderError>] {
        guard !mutations.isEmpty else { return [] }
        return await withLoopContinuation { continuation in
            let outcomes = Outcomes(count: mutations.count) { continuation.resume(returning: $0) }
            for (position, mutation) in mutations.enumerated() {
                backend.commit([mutation], as: credentials) { outcomes.set($0, at: position) }
            }
        }
    }
}

/// Gathers what came of several commits.
private final class Outcomes: Sendable {
    typealias Outcome = Result<CommitResponse, LarderError>

    private let state: Mutex<(outcomes: [Outcome?], left: Int)>
    private let completion: @Sendable ([Outcome]) -> Void

    init(count: Int, _ completion: @escaping @Sendable ([Outcome]) -> Void) {
        state = Mutex((Array(repeating: nil, count: count), count))
        self.completion = completion
    }

    func set(_ outcome: Outcome, at position: Int) {
        let all = state.withLock { state -> [Outcome]? in
            state.outcomes[position] = outcome
            state.left -= 1
            return state.left == 0 ? state.outcomes.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}
