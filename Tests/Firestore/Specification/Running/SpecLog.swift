import LarderModel
import LarderQuery
import LarderSync
import Synchronization

/// A client's events since the log was last read.
final class SpecLog: Sendable {
    /// What there is in it.
    struct Entries: Sendable {
        var events: [ListenerEvent] = []
        var acknowledged: [DocumentPath] = []
        var rejected: [DocumentPath] = []
        var snapshotsInSyncCount = 0
        var pendingWritesCount = 0
    }

    private let entries = Mutex(Entries())
    private let isEnding = Atomic<Bool>(false)
    private let trace: SpecTrace

    init(_ trace: SpecTrace) {
        self.trace = trace
    }

    /// Takes what has come.
    func take() -> Entries {
        entries.withLock { entries in
            defer { entries = Entries() }
            return entries
        }
    }

    /// What a client says while it ends is its own affair: that its writes have no answer.
    func end() { isEnding.store(true, ordering: .releasing) }

    /// Listens again to a client that was restarted.
    func begin() { isEnding.store(false, ordering: .releasing) }

    func note(_ event: ListenerEvent) {
        trace("event \(event)")
        entries.withLock { $0.events.append(event) }
    }

    /// A write was answered, or refused here.
    func note(_ mutations: [Mutation], _ result: Result<Void, LarderError>) {
        if isEnding.load(ordering: .acquiring) { return }
        let paths = mutations.map(\.path)
        trace("write of \(paths.map(\.string)): \(result)")
        entries.withLock { entries in
            switch result {
            case .success: entries.acknowledged += paths
            case .failure: entries.rejected += paths
            }
        }
    }

    func noteSnapshotsInSync() {
        entries.withLock { $0.snapshotsInSyncCount += 1 }
    }

    /// Waiting for pending writes ended; only a good end counts.
    func notePendingWrites(_ result: Result<Void, LarderError>) {
        guard case .success = result else { return }
        entries.withLock { $0.pendingWritesCount += 1 }
    }
}

/// Prints what happens when tests are chosen by name.
struct SpecTrace: Sendable {
    let isEnabled: Bool

    func callAsFunction(_ line: @autoclosure () -> String) {
        if isEnabled { print("    " + line()) }
    }
}
