import Foundation

/// What has happened to a thread so far.
struct ThreadUse: Equatable, Sendable {
    /// How often it has waited for a page of a file to come from the disk.
    var diskReads = 0
    /// How often another thread was given its processor.
    var preemptions = 0

    /// What has happened to the calling thread; where the system does not tell, nothing.
    static var current: ThreadUse {
        #if os(Linux)
            var usage = rusage()
            guard getrusage(thread, &usage) == 0 else { return ThreadUse() }
            return ThreadUse(diskReads: usage.ru_majflt, preemptions: usage.ru_nivcsw)
        #else
            return ThreadUse()
        #endif
    }

    /// Whether what took some time since then has waited for the disk, or was busy for longer than
    /// a limit.
    ///
    /// What had to give way to others may have been short itself.
    func isLong(_ time: Duration, since start: ThreadUse, limit: Duration) -> Bool {
        diskReads > start.diskReads || time > limit && preemptions == start.preemptions
    }

    #if os(Linux)
        /// `RUSAGE_THREAD`, which the C library shows to GNU sources alone.
        private static let thread: Int32 = 1
    #endif
}
