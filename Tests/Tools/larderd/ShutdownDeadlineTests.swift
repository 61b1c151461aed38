import Foundation
import Synchronization
import Testing

@testable import LarderDaemon

@Suite("The deadline of a shutdown")
struct ShutdownDeadlineTests {
    @Test("expires after a signal, however busy the threads of tasks are")
    func expires() {
        let expired = DispatchSemaphore(value: 0)
        // Ignored unless it is watched.
        let deadline = ShutdownDeadline([SIGURG], .nanoseconds(0)) { expired.signal() }
        repeat { kill(getpid(), SIGURG) } while expired.wait(timeout: .now()) == .timedOut
        deadline.cancel()
    }

    @Test("waits again as long as there is progress")
    func progress() {
        let expired = DispatchSemaphore(value: 0)
        let steps = Atomic<Int>(0)
        // Each look sees another number than the one before, up to the sixth.
        let deadline = ShutdownDeadline(
            [SIGURG], .nanoseconds(0),
            progress: { min(steps.add(1, ordering: .relaxed).newValue, 5) }
        ) { expired.signal() }
        repeat { kill(getpid(), SIGURG) } while steps.load(ordering: .relaxed) == 0
        expired.wait()
        #expect(steps.load(ordering: .relaxed) >= 6)
        deadline.cancel()
    }
}
