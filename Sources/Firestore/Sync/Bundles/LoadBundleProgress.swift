/// How far the loading of a bundle is.
package struct LoadBundleProgress: Sendable, Equatable {
    /// What has become of it so far.
    package enum State: Sendable {
        /// It goes on.
        case inProgress
        /// All of the bundle is there, now or from an earlier time.
        case success
        /// It has failed; the numbers say how far it came.
        case error
    }

    /// Documents so far, also those that are said not to exist.
    package var documentsLoaded = 0
    /// Documents of the bundle, as it says itself.
    package var totalDocuments = 0
    /// Bytes so far, without those of the first part.
    package var bytesLoaded: Int64 = 0
    /// Bytes of the bundle without its first part, as it says itself.
    package var totalBytes: Int64 = 0
    /// What has become of it so far.
    package var state = State.inProgress

    /// Nothing so far.
    package init() {}
}
