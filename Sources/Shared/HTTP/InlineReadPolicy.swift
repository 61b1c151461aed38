import Foundation
public import LarderCore
import NIOPosix
import Synchronization

/// Decides which small reads run inline, on the calling event loop.
///
/// Reading from memory takes less time than waking another thread. A read that waits for a disk,
/// however fast, or runs for long delays the other connections of the loop. After such a read,
/// further reads are left to threads that may block, so that a loop is blocked for about a
/// twentieth of the time at most.
@usableFromInline
package final class InlineReadPolicy: Sendable {
    /// The duration above which a read from memory is long.
    private static let limit = Duration.milliseconds(1)
    /// The pause after a long read, as a multiple of its duration.
    private static let factor = 20

    /// The duration below which a read cannot have waited for a disk.
    private static let briefness = Duration.microseconds(30)
    /// How many reads are watched after one that was not brief.
    private static let watchCount = 100

    private struct State {
        /// When inline reads may resume.
        var pauseEnd: ContinuousClock.Instant
        /// How many reads are still watched; only then the system is asked for thread usage, which
        /// takes as long as a part of a read.
        var watchCount = 0
    }

    /// A read in progress.
    @usableFromInline
    package struct Reading {
        fileprivate let start: ContinuousClock.Instant
        /// The thread's usage before the read, if it is watched.
        fileprivate let usage: ThreadUsage?
    }

    private let usage: @Sendable () -> ThreadUsage
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// A policy that measures the calling thread.
    package convenience init() {
        self.init(usage: { .current }, now: { .now })
    }

    /// - Parameters:
    ///   - usage: the usage of the calling thread.
    ///   - now: the current time.
    init(
        usage: @escaping @Sendable () -> ThreadUsage,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.usage = usage
        self.now = now
        state = Mutex(State(pauseEnd: now()))
    }

    /// Runs a closure inline; returns nil without running it if another thread should.
    @inlinable
    package func run<R>(_ work: () throws(LarderError) -> R) throws(LarderError) -> R? {
        guard let reading = begin() else { return nil }
        defer { end(reading) }
        return try work()
    }

    /// Begins an inline read; nil if the calling thread is no event loop or during a pause.
    @usableFromInline
    package func begin() -> Reading? {
        guard MultiThreadedEventLoopGroup.currentEventLoop != nil else { return nil }
        let start = now()
        let isWatched = state.withLock { $0.pauseEnd <= start ? $0.watchCount > 0 : nil }
        return isWatched.map { Reading(start: start, usage: $0 ? usage() : nil) }
    }

    @usableFromInline
    package func end(_ reading: Reading) {
        let end = now()
        let time = end - reading.start
        guard reading.usage != nil || time > Self.briefness else { return }
        let isLong =
            reading.usage.map { usage().isLong(time, since: $0, limit: Self.limit) } ?? false
        state.withLock { state in
            state.watchCount =
                time > Self.briefness ? Self.watchCount : max(state.watchCount - 1, 0)
            if isLong { state.pauseEnd = end + time * Self.factor }
        }
    }
}

/// The system's counters of a thread.
struct ThreadUsage: Equatable, Sendable {
    /// Page faults that waited for a disk.
    var diskReads = 0
    /// Involuntary context switches.
    var preemptions = 0

    /// The counters of the calling thread; zeros if the system does not provide them.
    static var current: ThreadUsage {
        #if os(Linux)
            var usage = rusage()
            guard getrusage(thread, &usage) == 0 else { return ThreadUsage() }
            return ThreadUsage(diskReads: usage.ru_majflt, preemptions: usage.ru_nivcsw)
        #else
            return ThreadUsage()
        #endif
    }

    /// Whether work that took some time has waited for the disk, or was busy for longer than a
    /// limit; preempted work may have been short itself.
    func isLong(_ time: Duration, since start: ThreadUsage, limit: Duration) -> Bool {
        diskReads > start.diskReads || time > limit && preemptions == start.preemptions
    }

    #if os(Linux)
        /// `RUSAGE_THREAD`, which the C library declares for GNU sources only.
        private static let thread: Int32 = 1
    #endif
}
