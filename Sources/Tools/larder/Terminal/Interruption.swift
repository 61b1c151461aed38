import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Handling of interrupts (control-C or SIGTERM).
///
/// Long operations check for an interrupt between steps, so that commits are kept and a summary is
/// printed. A second signal ends the process immediately.
enum Interruption {
    private static let requested = Atomic<Bool>(false)
    /// The pipe for waking up a waiting thread; -1 for none.
    private static let wakeDescriptor = Atomic<Int32>(-1)

    /// Whether a signal came since ``catchSignals()``.
    static var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Records the first SIGINT or SIGTERM instead of ending the process.
    ///
    /// Unblocks the signals, which a parent process may have blocked.
    static func catchSignals() {
        var awaited = sigset_t()
        sigemptyset(&awaited)
        for number in [SIGINT, SIGTERM] {
            sigaddset(&awaited, number)
            var action = sigaction()
            #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = { number in Interruption.note(number) }
            #else
                action.__sigaction_handler.sa_handler = { number in Interruption.note(number) }
            #endif
            sigaction(number, &action, nil)
        }
        pthread_sigmask(SIG_UNBLOCK, &awaited, nil)
    }

    /// Records the first signal and calls a closure on a separate thread.
    static func onRequest(_ body: @escaping @Sendable () -> Void) throws(ToolError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ToolError(.system, "cannot wait for signals: \(String(cString: strerror(errno)))")
        }
        let (reading, writing) = (ends[0], ends[1])
        wakeDescriptor.store(writing, ordering: .relaxed)
        catchSignals()
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while read(reading, &byte, 1) < 0, errno == EINTR {}
            body()
        }
    }

    private static func note(_ number: Int32) {
        requested.store(true, ordering: .relaxed)
        signal(number, SIG_DFL)
        let descriptor = wakeDescriptor.load(ordering: .relaxed)
        if descriptor >= 0 {
            var byte: UInt8 = 0
            _ = write(descriptor, &byte, 1)
        }
    }
}
