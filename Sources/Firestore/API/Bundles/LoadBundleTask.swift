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

/// What has become of the loading of a bundle so far.
public enum LoadBundleTaskState: Int, Hashable, Sendable {
    /// It has failed; ``LoadBundleTaskProgress`` says how far it came.
    case error = 0
    /// It goes on.
    case inProgress = 1
    /// All of the bundle is there.
    case success = 2
}

/// How far the loading of a bundle is.
public final class LoadBundleTaskProgress: Sendable {
    /// Documents that were loaded.
    public let documentsLoaded: Int

    /// Documents of the bundle.
    public let totalDocuments: Int

    /// Bytes that were loaded, without those of the bundle's description of itself.
    public let bytesLoaded: Int

    /// Bytes of the bundle, without those of its description of itself.
    public let totalBytes: Int

    /// What has become of it so far.
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

extension LoadBundleTaskProgress: Hashable {
    /// Whether both say the same.
    public static func == (left: LoadBundleTaskProgress, right: LoadBundleTaskProgress) -> Bool {
        left.documentsLoaded == right.documentsLoaded
            && left.totalDocuments == right.totalDocuments
            && left.bytesLoaded == right.bytesLoaded && left.totalBytes == right.totalBytes
            && left.state == right.state
    }

    /// Hashes what was loaded, and the state.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(documentsLoaded)
        hasher.combine(bytesLoaded)
        hasher.combine(state)
    }
}
