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

    private static func note(_ number: Int32) {
        requested.store(true, ordering: .relaxed)
        signal(number, SIG_DFL)
    }
}
