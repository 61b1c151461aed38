import LarderModel
import LarderSync
import Synchronization

/// A bundle that comes in one piece.
final class SpecBundle: BundleSource {
    private let rest: Mutex<[UInt8]>

    init(_ text: String) {
        rest = Mutex(Array(text.utf8))
    }

    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
        completion(
            .success(
                rest.withLock { rest in
                    defer { rest = [] }
                    return rest
                }))
    }
}
