import LarderModel
import NIOPosix
import Synchronization

/// Makes small reads at once, on the event loop that asks, as long as they are short.
///
/// What is in memory is read in less time than another thread needs to wake up. A read that waits
/// for the disk, however fast that is, or makes much of what it reads, holds up the other
/// connections of the loop: after two of these, reads go to threads that may block, so that a loop
/// waits for about a twentieth of the time at most.
final class SmallReads: Sendable {
    /// Beyond this a read from memory is not short.
    private static let limit = Duration.milliseconds(1)
    /// For how many times what it took reads go to other threads after one that was not short.
    private static let factor = 20

    /// Below this nothing has come from a disk.
    private static let briefness = Duration.microseconds(30)
    /// How many reads are watched after one that was not brief.
    private static let watchCount = 100

    private struct State {
        /// Until when reads go to other threads.
        var detourEnd: ContinuousClock.Instant
        /// How many reads are watched yet, since one that was not brief: to ask the system what
        /// happens to a thread takes as long as a part of a read.
        var watchCount = 0
    }

    private let use: @Sendable () -> ThreadUse
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// - Parameters:
    ///   - use: what has happened to the calling thread.
    ///   - now: the time.
    init(
        use: @escaping @Sendable () -> ThreadUse = { .current },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.use = use
        self.now = now
        state = Mutex(State(detourEnd: now()))
    }

    /// Runs a closure, and gives what it gives; nil, and does not, where another thread is to.
    ///
    /// - Throws: what it throws.
    func run<R>(_ work: () throws(LarderError) -> R) throws(LarderError) -> R? {
        guard MultiThreadedEventLoopGroup.currentEventLoop != nil else { return nil }
        let start = now()
        let isWatched = state.withLock { $0.detourEnd <= start ? $0.watchCount > 0 : nil }
        guard let isWatched else { return nil }
        let before = isWatched ? use() : nil
        defer {
            let end = now()
            let time = end - start
            if isWatched || time > Self.briefness {
                let isLong =
                    before.map { use().isLong(time, since: $0, limit: Self.limit) } ?? false
                state.withLock { state in
                    state.watchCount =
                        time > Self.briefness ? Self.watchCount : max(state.watchCount - 1, 0)
                    if isLong { state.detourEnd = end + time * Self.factor }
                }
            }
        }
        return try work()
    }
}
