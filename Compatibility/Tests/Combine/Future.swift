/// The one type of Apple's Combine that Apple's tests of Firestore use: a result that comes later.
public final class Future<Output, Failure: Error> {
    /// Receives the result; later ones are ignored.
    public typealias Promise = (Result<Output, Failure>) -> Void

    private let attemptToFulfill: (@escaping Promise) -> Void

    /// A result that a closure promises.
    public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {
        self.attemptToFulfill = attemptToFulfill
    }
}

extension Future where Failure == any Error {
    /// Suspends until the result is there.
    public var value: Output {
        get async throws {
            let (results, continuation) = AsyncStream.makeStream(of: Transfer<Output>.self)
            attemptToFulfill { result in continuation.yield(Transfer(result: result)) }
            for await first in results { return try first.result.get() }
            throw CancellationError()
        }
    }
}

/// A result on its way from the promise, which uses it no longer.
private struct Transfer<Output>: @unchecked Sendable {
    let result: Result<Output, any Error>
}
