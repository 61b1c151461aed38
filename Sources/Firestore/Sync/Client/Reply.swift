import LarderModel
import Synchronization

/// Who waits for an answer, and is told the first one.
final class Reply<Value: Sendable>: Sendable {
    /// An answer, or why there is none.
    typealias Answer = @Sendable (Result<Value, LarderError>) -> Void

    private let completion: Mutex<Answer?>

    /// Somebody who waits.
    init(_ completion: @escaping Answer) {
        self.completion = Mutex(completion)
    }

    /// Answers; later answers are dropped.
    func send(_ result: Result<Value, LarderError>) {
        let completion = completion.withLock { completion in
            defer { completion = nil }
            return completion
        }
        completion?(result)
    }
}
