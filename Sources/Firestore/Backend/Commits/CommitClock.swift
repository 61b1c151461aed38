import LarderModel

/// The versions of commits: the time of the clock, and always later than the one before.
struct CommitClock: Sendable {
    /// The last version; none before the first.
    private(set) var last: SnapshotVersion

    /// Goes on behind a version.
    init(after last: SnapshotVersion) {
        self.last = last
    }

    /// The version of the next commit, in whole microseconds.
    mutating func advance(to now: Timestamp) -> SnapshotVersion {
        last = max(SnapshotVersion(now.truncatedToMicroseconds), last.successor)
        return last
    }
}

extension SnapshotVersion {
    /// The version a microsecond later.
    var successor: SnapshotVersion {
        let nanoseconds = timestamp.nanoseconds + 1000
        let carry: Int32 = nanoseconds >= 1_000_000_000 ? 1 : 0
        return SnapshotVersion(
            Timestamp(
                unchecked: timestamp.seconds + Int64(carry), nanoseconds - carry * 1_000_000_000))
    }
}
