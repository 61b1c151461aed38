import LarderModel
import Logging

extension WriteHandle {
    /// Tells a completion handler in Apple's form what the backend said, or logs without one.
    func report(to completion: (((any Error)?) -> Void)?) {
        guard let completion else { return logRefusal() }
        whenAcknowledged(firestore.callbackQueue.completion(completion))
    }

    /// Logs when the write is refused here: nobody else hears of it.
    func logRefusal() {
        let logger = firestore.logger
        whenCommitted { result in
            guard case .failure(let error) = result, error.kind != .cancelled else { return }
            logger.error("A write was refused: \(error.message)")
        }
    }
}
