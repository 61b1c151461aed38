import Dispatch
import LarderModel
import LarderSync
import Synchronization

/// The number of an observer of a ``LoadBundleTask``.
public typealias LoadBundleObserverHandle = Int

/// A bundle that is being loaded; it need not be kept.
public final class LoadBundleTask: Sendable {
    private struct State {
        var observers: [LoadBundleObserverHandle: Transferred<(LoadBundleTaskProgress) -> Void>] =
            [:]
        var lastHandle = 0
        /// How it ended, once the observers have been told.
        var end: LoadBundleTaskProgress?
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// Calls a closure with every step forward from now on, on the callback queue; the last one
    /// says how it ended.
    ///
    /// An observer that comes after the end hears how it ended, so that none waits in vain for a
    /// small bundle.
    ///
    /// - Returns: what ``removeObserverWith(handle:)`` takes.
    @discardableResult
    public func addObserver(
        _ observer: @escaping (LoadBundleTaskProgress) -> Void
    ) -> LoadBundleObserverHandle {
        let observer = Transferred(observer)
        let (handle, end) = state.withLock { state in
            state.lastHandle += 1
            state.observers[state.lastHandle] = observer
            return (state.lastHandle, state.end)
        }
        if let end { queue.async { [self] in tell(end, handle) } }
        return handle
    }

    /// Calls an observer no longer; does nothing for one that is not there.
    public func removeObserverWith(handle: LoadBundleObserverHandle) {
        state.withLock { $0.observers[handle] = nil }
    }

    /// Calls no observer any longer.
    public func removeAllObservers() {
        state.withLock { $0.observers = [:] }
    }

    /// Tells the observers, in the order in which they were added.
    func tell(_ progress: LoadBundleProgress) {
        queue.async { [self] in
            let progress = LoadBundleTaskProgress(progress)
            let handles = state.withLock { state in
                if progress.state != .inProgress { state.end = progress }
                return state.observers.keys.sorted()
            }
            for handle in handles { tell(progress, handle) }
        }
    }

    /// Tells an observer, unless it has been removed, as one may remove another.
    private func tell(_ progress: LoadBundleTaskProgress, _ handle: LoadBundleObserverHandle) {
        state.withLock { $0.observers[handle] }?.value(progress)
    }
}

extension LoadBundleTaskProgress {
    convenience init(_ progress: LoadBundleProgress) {
        let state: LoadBundleTaskState =
            switch progress.state {
            case .inProgress: .inProgress
            case .success: .success
            case .error: .error
            }
        self.init(
            documentsLoaded: progress.documentsLoaded, totalDocuments: progress.totalDocuments,
            bytesLoaded: Int(clamping: progress.bytesLoaded),
            totalBytes: Int(clamping: progress.totalBytes), state: state)
    }
}
