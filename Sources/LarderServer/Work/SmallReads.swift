import LarderModel
import NIOPosix
import Synchronization

/// Makes small reads at once, on the event loop that asks, as long as they are short.
///
/// What is in memory is read in less time than another thread needs to wake up. A read that waits
/// for the disk, however fast that is, or makes much of what it reads, holds up the other
/// connections of the loop: after one of these, reads go to threads that may block, so that a loop
/// waits for about a twentieth of the time at most.
final class SmallReads: Sendable {
    /// Beyond this a read from memory is not short.
    private static let limit = Duration.milliseconds(1)
    /// For how many times what it took reads go to other threads after one that was not short.
    private static let factor = 20

    private let use: @Sendable () -> ThreadUse
    /// Until when reads go to other threads.
    private let detour: Mutex<ContinuousClock.Instant>

    /// - Parameter use: what has happened to the calling thread.
    init(use: @escaping @Sendable () -> ThreadUse = { .current }) {
        self.use = use
        detour = Mutex(use().time)
    }

    /// Runs a closure, and gives what it gives; nil, and does not, where another thread is to.
    ///
    /// - Throws: what it throws.
    func run<R>(_ work: () throws(LarderError) -> R) throws(LarderError) -> R? {
        guard MultiThreadedEventLoopGroup.currentEventLoop != nil,
            case let start = use(), detour.withLock({ $0 <= start.time })
        else { return nil }
        defer {
            let end = use()
            if end.isLong(since: start, limit: Self.limit) {
                let pause = (end.time - start.time) * Self.factor
                detour.withLock { $0 = end.time + pause }
            }
        }
        return try work()
    }
}
