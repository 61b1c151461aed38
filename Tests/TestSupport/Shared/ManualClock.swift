package import LarderCore
import Synchronization

/// A clock that only tests turn.
package final class ManualClock: Sendable {
    private let time = Mutex(Duration.zero)
    private let epoch: Timestamp

    /// A clock that stands at a moment.
    package init(at epoch: Timestamp = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)) {
        self.epoch = epoch
    }

    /// Time since the clock was made.
    package var now: Duration { time.withLock { $0 } }

    /// The moment at which it stands.
    package var timestamp: Timestamp {
        let (seconds, attoseconds) = now.components
        let nanoseconds = Int64(epoch.nanoseconds) + attoseconds / 1_000_000_000
        return Timestamp(
            seconds: epoch.seconds + seconds + nanoseconds / 1_000_000_000,
            nanoseconds: Int32(nanoseconds % 1_000_000_000))
    }

    /// Turns it on.
    package func advance(by duration: Duration) {
        time.withLock { $0 += duration }
    }
}
