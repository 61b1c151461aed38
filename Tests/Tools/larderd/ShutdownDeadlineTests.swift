import Foundation
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
}
