import LarderModel
import LarderStorage
import Synchronization

/// The last commits of a backend, kept so that they can be read again.
///
/// How many is bounded, and so is their age while there are commits: what a kept commit has and
/// later ones no longer have takes room in the store. Any thread may use it.
final class SnapshotHistory: Sendable {
    private struct Entry {
        let version: SnapshotVersion
        let snapshot: PinnedSnapshot
    }

    /// How old a commit may be when another one is made, in seconds.
    private static let maxSeconds: Int64 = 60

    private let limit: Int
    private let entries = Mutex<[Entry]>([])

    /// No commits yet.
    ///
    /// - Parameter limit: how many are kept; 0 for none.
    init(limit: Int) {
        self.limit = limit
    }

    /// Keeps the newest commit of a store.
    ///
    /// - Parameter version: the version of that commit.
    func add(_ version: SnapshotVersion, of store: Store) {
        // Without room for another reader the past is shorter, and nothing else is wrong.
        guard limit > 0, let snapshot = try? store.pinSnapshot() else { return }
        let oldest = version.timestamp.seconds - Self.maxSeconds
        let dropped = entries.withLock { entries in
            entries.append(Entry(version: version, snapshot: snapshot))
            let kept = entries.drop { $0.version.timestamp.seconds < oldest }.suffix(limit)
            defer { entries = Array(kept) }
            return entries.prefix(entries.count - kept.count)
        }
        // Whoever still reads one of them holds it.
        _ = dropped
    }

    /// The last commit up to a moment; nil where that is not kept, and for no moment.
    func snapshot(at moment: SnapshotVersion) -> PinnedSnapshot? {
        guard !moment.isNone else { return nil }
        return entries.withLock { $0.last { $0.version <= moment }?.snapshot }
    }

    /// Forgets all, so that the store can be closed once reads have ended.
    func dropAll() {
        let dropped = entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
        for entry in dropped { entry.snapshot.end() }
    }
}
