import Foundation
import LarderModel
import LarderSync
import Synchronization

/// A bundle in memory.
final class BundleData: BundleSource {
    private static let partBytes = 1 << 18

    private let rest: Mutex<Data>

    init(_ data: Data) {
        rest = Mutex(data)
    }

    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
        let part = rest.withLock { rest in
            let part = rest.prefix(Self.partBytes)
            rest = rest.dropFirst(Self.partBytes)
            return [UInt8](part)
        }
        completion(.success(part))
    }
}

/// A bundle that is read from a stream, on a thread that may block.
final class BundleStream: BundleSource {
    private static let partBytes = 1 << 16

    // One read follows the other.
    private let stream: Transferred<InputStream>

    init(_ stream: InputStream) {
        self.stream = Transferred(stream)
    }

    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
        Firestore.blockingQueue.async { [self] in
            completion(Result { () throws(LarderError) in try part() })
        }
    }

    private func part() throws(LarderError) -> [UInt8] {
        let stream = stream.value
        if stream.streamStatus == .notOpen { stream.open() }
        var bytes = [UInt8](repeating: 0, count: Self.partBytes)
        let count = stream.read(&bytes, maxLength: bytes.count)
        guard count >= 0 else {
            throw LarderError(
                .unavailable, "The bundle cannot be read.", cause: stream.streamError)
        }
        if count == 0 { stream.close() }
        return Array(bytes.prefix(count))
    }
}
