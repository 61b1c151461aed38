import LarderDocumentStore
import LarderModel
import Synchronization

/// The recent commits of a backend, retained for reads in the past.
///
/// They are bounded by their age, by the data that only retained commits contain, which occupies
/// space in the store, and by the readers that the store has for them. Can be used from any thread.
final class SnapshotHistory: Sendable {
    private struct Entry {
        let version: SnapshotVersion
        let snapshot: PinnedSnapshot
        /// The size of what the commit has replaced, which earlier ones contain.
        let replacedBytes: Int64
    }

    private struct State {
        var entries: [Entry] = []
        /// The size of what all but the first have replaced.
        var replacedBytes: Int64 = 0
    }

    /// The maximum age of a commit when another one is added, in seconds: that of Firestore's
    /// service.
    private static let maxSeconds: Int64 = 3_600

    private let limit: Int
    private let maxBytes: Int64
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: the maximum number of commits; 0 for none.
    ///   - maxBytes: the maximum size of what only retained commits contain.
    init(limit: Int, maxBytes: Int64) {
        self.limit = limit
        self.maxBytes = maxBytes
    }

    /// Retains the newest commit of a store.
    ///
    /// - Parameters:
    ///   - version: the version of that commit.
    ///   - replacedBytes: the approximate size of what the commit has replaced.
    func add(_ version: SnapshotVersion, of store: Store, replacing replacedBytes: Int64 = 0) {
        // If no reader slot is free, only the retained past is shorter.
        guard limit > 0, let snapshot = try? store.pinSnapshot() else { return }
        let oldest = version.timestamp.seconds - Self.maxSeconds
        let dropped = state.withLock { state in
            state.entries.append(
                Entry(version: version, snapshot: snapshot, replacedBytes: replacedBytes))
            if state.entries.count > 1 { state.replacedBytes += replacedBytes }
            var count = 0
            while count < state.entries.count - 1,
                state.entries.count - count > limit || state.replacedBytes > maxBytes
                    || state.entries[count].version.timestamp.seconds < oldest
            {
                count += 1
                state.replacedBytes -= state.entries[count].replacedBytes
            }
            defer { state.entries.removeFirst(count) }
            return Array(state.entries.prefix(count))
        }
        // Reads in progress retain dropped commits.
        _ = dropped
    }

    /// The last commit up to a time; nil if it is not retained or no time is given.
    func snapshot(at moment: SnapshotVersion) -> PinnedSnapshot? {
        guard !moment.isNone else { return nil }
        return state.withLock { $0.entries.last { $0.version <= moment }?.snapshot }
    }

    /// The error for a time whose commit is not retained.
    func tooOld(_ moment: SnapshotVersion) -> LarderError {
        let earliest = state.withLock { $0.entries.first?.version }
        let reach = earliest.map { ": reads go back to \($0)" } ?? ""
        return LarderError(
            .failedPrecondition, "the read time \(moment) is too old\(reach)")
    }

    /// Releases all commits, so that the store can be closed.
    func dropAll() {
        let dropped = state.withLock { state in
            defer { state = State() }
            return state.entries
        }
        for entry in dropped { entry.snapshot.end() }
    }
}
