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
