package import HashTreeCollections
package import LarderModel

/// What a ``WatchAggregator`` asks of its owner while it works.
package protocol WatchKnowledge {
    /// A target that is watched; nil when it is not, or not any more.
    func target(_ id: Int32) -> TargetData?

    /// Whether a target is watched; asked for every target of a snapshot.
    func isWatched(_ id: Int32) -> Bool

    /// The documents that the backend is known to have in a target, as of the last event.
    func remoteKeys(of id: Int32) -> TreeSet<DocumentPath>

    /// Whether ``remoteKeys(of:)`` has a document; asked for every document of a response.
    func isRemoteKey(_ path: DocumentPath, of id: Int32) -> Bool
}

extension WatchKnowledge {
    /// Looks the target up.
    package func isWatched(_ id: Int32) -> Bool { target(id) != nil }

    /// Looks in the whole set.
    package func isRemoteKey(_ path: DocumentPath, of id: Int32) -> Bool {
        remoteKeys(of: id).contains(path)
    }
}
