import LarderDocumentStore
import LarderModel
import Synchronization

/// The recent commits of a backend, retained for reads in the past.
///
/// Their number is bounded, and so is their age while there are new commits, because data that only
/// retained commits contain occupies space in the store. Can be used from any thread.
final class SnapshotHistory: Sendable {
    private struct Entry {
        let version: SnapshotVersion
        let snapshot: PinnedSnapshot
    }

    /// The maximum age of a commit when another one is added, in seconds.
    private static let maxSeconds: Int64 = 60

    private let limit: Int
    private let entries = Mutex<[Entry]>([])

    /// - Parameter limit: the maximum number of commits; 0 for none.
    init(limit: Int) {
        self.limit = limit
    }

    /// Retains the newest commit of a store.
    ///
    /// - Parameter version: the version of that commit.
    func add(_ version: SnapshotVersion, of store: Store) {
        // If no reader slot is free, only the retained past is shorter.
        guard limit > 0, let snapshot = try? store.pinSnapshot() else { return }
        let oldest = version.timestamp.seconds - Self.maxSeconds
        let dropped = entries.withLock { entries in
            entries.append(Entry(version: version, snapshot: snapshot))
            let kept = entries.drop { $0.version.timestamp.seconds < oldest }.suffix(limit)
            defer { entries = Array(kept) }
            return entries.prefix(entries.count - kept.count)
        }
        // Reads in progress retain dropped commits.
        _ = dropped
    }

    /// The last commit up to a time; nil if it is not retained or no time is given.
    func snapshot(at moment: SnapshotVersion) -> PinnedSnapshot? {
        guard !moment.isNone else { return nil }
        return entries.withLock { $0.last { $0.version <= moment }?.snapshot }
    }

    /// Releases all commits, so that the store can be closed.
    func dropAll() {
        let dropped = entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
        for entry in dropped { entry.snapshot.end() }
    }
}
