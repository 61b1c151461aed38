import Dispatch
import LarderModel
import LarderSync
import Synchronization

/// The handle of an observer of a ``LoadBundleTask``.
public typealias LoadBundleObserverHandle = Int

/// The loading of a bundle, which proceeds even if this object is deallocated.
public final class LoadBundleTask: Sendable {
    private struct State {
        var observers: [LoadBundleObserverHandle: Transferred<(LoadBundleTaskProgress) -> Void>] =
            [:]
        var lastHandle = 0
        /// The final progress, once it was delivered.
        var end: LoadBundleTaskProgress?
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// Calls a closure with each progress on the callback queue; the last one contains the outcome.
    ///
    /// An observer added after the end receives the final progress.
    ///
    /// - Returns: the handle for ``removeObserverWith(handle:)``.
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

    /// Removes an observer; has no effect for an unknown handle.
    public func removeObserverWith(handle: LoadBundleObserverHandle) {
        state.withLock { $0.observers[handle] = nil }
    }

    /// Removes all observers.
    public func removeAllObservers() {
        state.withLock { $0.observers = [:] }
    }

    /// Notifies the observers in the order in which they were added.
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

    /// Notifies an observer unless it was removed, possibly by another observer.
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

/// The state of loading a bundle.
public enum LoadBundleTaskState: Int, Hashable, Sendable {
    /// Loading failed; ``LoadBundleTaskProgress`` contains what was loaded before.
    case error = 0
    /// Loading is in progress.
    case inProgress = 1
    /// Loading is complete.
    case success = 2
}

/// The progress of loading a bundle.
public final class LoadBundleTaskProgress: Sendable {
    /// The number of documents loaded.
    public let documentsLoaded: Int

    /// The number of documents in the bundle.
    public let totalDocuments: Int

    /// The number of bytes loaded, without the bundle's metadata.
    public let bytesLoaded: Int

    /// The number of bytes in the bundle, without its metadata.
    public let totalBytes: Int

    /// The state of loading.
    public let state: LoadBundleTaskState

    init(
        documentsLoaded: Int, totalDocuments: Int, bytesLoaded: Int, totalBytes: Int,
        state: LoadBundleTaskState
    ) {
        self.documentsLoaded = documentsLoaded
        self.totalDocuments = totalDocuments
        self.bytesLoaded = bytesLoaded
        self.totalBytes = totalBytes
        self.state = state
    }
}

extension LoadBundleTaskProgress: Hashable, ObjectComparable {
    /// True if counts, sizes and state are equal.
    public static func == (left: LoadBundleTaskProgress, right: LoadBundleTaskProgress) -> Bool {
        left.documentsLoaded == right.documentsLoaded
            && left.totalDocuments == right.totalDocuments
            && left.bytesLoaded == right.bytesLoaded && left.totalBytes == right.totalBytes
            && left.state == right.state
    }

    /// Hashes counts and state.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(documentsLoaded)
        hasher.combine(bytesLoaded)
        hasher.combine(state)
    }
}
