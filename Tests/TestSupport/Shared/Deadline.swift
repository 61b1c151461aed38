/// What a body that did not end in time fails with.
package struct DeadlineExceeded: Error, CustomStringConvertible {
    package let description: String
}

/// Runs a body that must end within a time of the wall clock.
///
/// A body that does not end is left behind: it may wait for something that ignores cancellation.
/// The time is waited for in steps, between which the body runs: when other tests keep all threads
/// busy, both stand still.
///
/// - Parameter limit: how long the body may take.
/// - Throws: what the body throws, or ``DeadlineExceeded``.
package func withDeadline(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Void
) async throws {
    let outcome = Awaited<Result<Void, any Error>?>(nil)
    let end: @Sendable (Result<Void, any Error>) -> Void = { result in
        outcome.change { $0 = $0 ?? result }
    }
    let running = Task {
        do {
            end(.success(try await body()))
        } catch {
            end(.failure(error))
        }
    }
    let deadline = Task {
        let steps = 100
        for _ in 0..<steps { try await Task.sleep(for: limit / steps) }
        end(.failure(DeadlineExceeded(description: "it has not ended after \(limit)")))
    }
    await outcome.wait { $0 != nil }
    running.cancel()
    deadline.cancel()
    try outcome.value?.get()
}
