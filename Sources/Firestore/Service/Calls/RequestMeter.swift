import DequeModule
import NIOCore

/// Holds room in a budget for one call's requests, from when their length is known until they are
/// served.
///
/// A call that asks once is served when it ends; of a stream, that takes answers while it asks,
/// each answer serves the oldest request. Used on one event loop.
final class RequestMeter {
    private let budget: RequestBudget
    private let loop: any EventLoop
    private var heldBytes = 0
    /// The bytes of the requests that have begun and are not answered.
    private var unanswered: Deque<Int> = []
    /// The number of the wait for room, for how many bytes, and what happens when there is some.
    private var wait: (id: UInt64, bytes: Int, goOn: () -> Void)?

    init(_ budget: RequestBudget, _ loop: any EventLoop) {
        self.budget = budget
        self.loop = loop
    }

    /// Whether a request waits for room.
    var isWaiting: Bool { wait != nil }

    /// Holds room for a request.
    ///
    /// - Parameter goOn: called once there is room, where there is none now.
    func hold(_ bytes: Int, _ goOn: @escaping () -> Void) {
        unanswered.append(bytes)
        guard bytes > RequestBudget.littleBytes else {
            budget.takeLittle(bytes)
            heldBytes += bytes
            return
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let id = budget.take(bytes) { [budget, loop] id in
            loop.execute {
                guard bound.value.wait?.id == id else { return budget.release(bytes) }
                bound.value.endWait()
            }
        }
        if let id { wait = (id, bytes, goOn) } else { heldBytes += bytes }
    }

    /// Requests have been served.
    func release(requests: Int) {
        var bytes = 0
        for _ in 0..<requests { bytes += unanswered.popFirst() ?? 0 }
        release(bytes: min(bytes, heldBytes))
    }

    /// All have been, or are given up.
    func releaseAll() {
        // Where it is too late to give it up, the room that was found is let go when it is told.
        if let wait { _ = budget.giveUp(wait.id) }
        (wait, unanswered) = (nil, [])
        release(bytes: heldBytes)
    }

    private func endWait() {
        guard let wait else { return }
        heldBytes += wait.bytes
        self.wait = nil
        wait.goOn()
    }

    private func release(bytes: Int) {
        guard bytes > 0 else { return }
        heldBytes -= bytes
        budget.release(bytes)
    }
}
