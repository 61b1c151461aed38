import Dispatch
import LarderModel
import LarderSync
import Synchronization

/// The snapshots of a listener that wait for the application, in order.
///
/// When ``capacity`` of them wait, later ones are joined with the last, so that an application that
/// is slower than the writes gets fewer snapshots, which have all changes.
final class SnapshotMailbox: Sendable {
    private enum Waiting: Sendable {
        case snapshot(JoinedSnapshot)
        case failure(LarderError)
    }

    /// The number of snapshots above which they are joined.
    static let capacity = 32

    private let waiting = Mutex<[Waiting]>([])

    /// Adds a snapshot, or the error that ends the listener.
    ///
    /// - Returns: true if ``take()`` has to be called once more; false if it was joined.
    func add(_ result: Result<ViewSnapshot, LarderError>) -> Bool {
        waiting.withLock { waiting in
            switch result {
            case .failure(let error): waiting.append(.failure(error))
            case .success(let snapshot):
                if waiting.count >= Self.capacity, case .snapshot(var joined)? = waiting.last {
                    // Removed first, so that the append copies nothing.
                    waiting.removeLast()
                    joined.append(snapshot)
                    waiting.append(.snapshot(joined))
                    return false
                }
                waiting.append(.snapshot(JoinedSnapshot(snapshot)))
            }
            return true
        }
    }

    /// Takes the first snapshot or error; nil if none waits, or joined snapshots have nothing to
    /// show.
    func take() -> Result<ViewSnapshot, LarderError>? {
        let first = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        switch first {
        case nil: return nil
        case .snapshot(let joined): return joined.snapshot.map { .success($0) }
        case .failure(let error): return .failure(error)
        }
    }

    /// True if nothing waits.
    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }
}

/// The calls of listeners that wait on the callback queue.
final class WaitingDeliveries: Sendable {
    private let count = Atomic<Int>(0)

    func begin() { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    func end() { count.wrappingSubtract(1, ordering: .acquiringAndReleasing) }

    /// Calls a closure after the calls of listeners that wait now: on their queue, or at once
    /// without any.
    func wait(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        if count.load(ordering: .acquiring) == 0 { body() } else { queue.async(execute: body) }
    }
}
