package import LarderModel

/// What a client tells a write stream.
package enum WriteRequest: Sendable, Equatable {
    /// The first request, once the stream is open.
    case handshake
    /// Make these changes together, after all that was sent before.
    ///
    /// - Parameter streamToken: the last token that the stream gave.
    case write([Mutation], streamToken: [UInt8])
}

/// What a client hears of a write stream.
package enum WriteEvent: Sendable {
    /// The stream is open; the client sends the handshake.
    case opened
    /// The handshake is answered.
    case handshake(streamToken: [UInt8])
    /// The oldest write without an answer is committed.
    case committed(CommitResponse, streamToken: [UInt8])
    /// The stream has ended, with an error that concerns the oldest write without an answer or,
    /// nil, in good order; the last event.
    case closed(LarderError?)
}

/// What a commit has done.
package struct CommitResponse: Sendable, Equatable {
    /// The commit's version.
    package var commitVersion: SnapshotVersion
    /// What each mutation did, in order.
    package var results: [MutationResult]

    /// What a commit has done.
    package init(commitVersion: SnapshotVersion, results: [MutationResult]) {
        self.commitVersion = commitVersion
        self.results = results
    }
}
