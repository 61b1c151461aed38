import FirebaseFirestore
import XCTest

/// What the snapshots of documents and of queries have in common.
public protocol AnySnapshot {
    var metadata: SnapshotMetadata { get }
}

extension DocumentSnapshot: AnySnapshot {}
extension QuerySnapshot: AnySnapshot {}

/// The events of a listener, for a test that waits for one after the other.
public final class FSTEventAccumulator<Value>: @unchecked Sendable {
    // The events are used under the lock.

    private let condition = NSCondition()
    private var events: [Value] = []
    private let queue: DispatchQueue

    /// The events of a test, which come on the queue of its database.
    public init(forTest test: FSTIntegrationTestCase) {
        queue = FSTIntegrationTestCase.callbackQueue
    }

    /// The closure of a listener.
    public var valueEventHandler: (Value?, (any Error)?) -> Void {
        { snapshot, error in
            XCTAssertNil(error)
            guard let snapshot else { return }
            self.condition.withLock {
                self.events.append(snapshot)
                self.condition.signal()
            }
        }
    }

    /// Waits for the next event.
    public func awaitEvent(withName name: String) -> Value {
        condition.lock()
        defer { condition.unlock() }
        let limit = Date(timeIntervalSinceNow: 60)
        while events.isEmpty {
            guard condition.wait(until: limit) else { fatalError("no event: \(name)") }
        }
        return events.removeFirst()
    }

    /// Checks that there are no events but those that a test has waited for.
    public func assertNoAdditionalEvents() {
        queue.sync {}
        condition.withLock { XCTAssertTrue(events.isEmpty, "\(events.count) more events") }
    }
}

extension NSCondition {
    fileprivate func withLock(_ body: () -> Void) {
        lock()
        defer { unlock() }
        body()
    }
}
