import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Whether the user asked the tool to stop (control-C, or SIGTERM).
///
/// Long work asks between its steps, so that what is committed stays and a summary is printed.
/// A second signal ends the process at once.
enum Interruption {
    private static let requested = Atomic<Bool>(false)
    /// Where a signal leaves a byte for who waits; -1 for nowhere.
    private static let wakeDescriptor = Atomic<Int32>(-1)

    /// Whether a signal came since ``catchSignals()``.
    static var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// From now on a first SIGINT or SIGTERM is noted instead of ending the process.
    ///
    /// Also where whoever started the process had them blocked, as worker threads do.
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

    /// Notes a first signal and calls a closure for it, on a thread of its own.
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
