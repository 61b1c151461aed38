package import LarderModel
package import LarderQuery

/// What a client tells a watch stream.
package enum WatchRequest: Sendable, Equatable {
    /// Watch a target.
    case add(WatchTarget)
    /// Watch a target no longer.
    case remove(targetID: Int32)
}

/// A target as a client asks for it.
package struct WatchTarget: Sendable, Equatable {
    /// Where the backend goes on from.
    package enum Resumption: Sendable, Hashable {
        /// From nothing.
        case none
        /// From a token that the backend gave, never empty.
        case token([UInt8])
        /// From a snapshot of the backend.
        case readTime(SnapshotVersion)
    }

    /// What a target is asked for.
    package enum Purpose: Sendable, Hashable {
        /// An application listens.
        case listen
        /// The backend's count of documents did not agree with the client's.
        case existenceFilterMismatch
        /// The same, after a bloom filter did not help.
        case existenceFilterMismatchBloom
        /// A document may be gone.
        case limboResolution
    }

    /// The client's number for it, above 0.
    package var id: Int32
    /// What is asked.
    package var target: QueryTarget
    /// What is asked as well: the others of a target of several documents.
    package var others: [QueryTarget]
    /// Where to go on from.
    package var resumption: Resumption
    /// How many documents the client knows in it; only when it is resumed.
    package var expectedCount: Int?
    /// Why it is asked for.
    package var purpose: Purpose

    /// A target to be watched.
    package init(
        id: Int32, target: QueryTarget, others: [QueryTarget] = [],
        resumption: Resumption = .none, expectedCount: Int? = nil, purpose: Purpose = .listen
    ) {
        self.id = id
        self.target = target
        self.others = others
        self.resumption = resumption
        self.expectedCount = expectedCount
        self.purpose = purpose
    }

    /// All that is asked.
    package var all: [QueryTarget] { [target] + others }
}

/// What a client hears of a watch stream.
package enum WatchEvent: Sendable {
    /// The stream is open.
    case opened
    /// The backend says something.
    case response(WatchResponse)
    /// The stream has ended, with an error or, nil, in good order; the last event.
    case closed(LarderError?)
}

/// What a backend says on a watch stream.
package enum WatchResponse: Sendable {
    /// Something about targets.
    case targets(TargetChange)
    /// A document is as this, and in or out of targets.
    case document(DocumentReading, targetIDs: [Int32], removedTargetIDs: [Int32])
    /// A document is no longer in targets; what it is now is not said.
    case removed(DocumentPath, removedTargetIDs: [Int32])
    /// How many documents a target has, and which of those the client knows may still be in it.
    case existenceFilter(targetID: Int32, count: Int, unchanged: BloomFilterBits?)
}

/// A change of targets, or of all of them.
package struct TargetChange: Sendable, Equatable {
    /// What has happened to the targets.
    package enum Kind: Sendable, Equatable {
        /// Nothing, but there is a token or a snapshot.
        case none
        /// They are watched.
        case added
        /// They are watched no longer: because the client asked for it, or for a reason.
        case removed(LarderError?)
        /// All that there was up to the token has been told.
        case current
        /// What was told does not count; it is all told again.
        case reset
    }

    /// What has happened.
    package var kind: Kind
    /// To which targets; empty for all.
    package var targetIDs: [Int32]
    /// What resumes the targets from here; empty for none.
    package var resumeToken: [UInt8]
    /// The snapshot up to which all targets have been told everything, where ``targetIDs`` is
    /// empty; else none.
    package var readTime: SnapshotVersion

    /// A change of targets.
    package init(
        _ kind: Kind, targetIDs: [Int32] = [], resumeToken: [UInt8] = [],
        readTime: SnapshotVersion = .none
    ) {
        self.kind = kind
        self.targetIDs = targetIDs
        self.resumeToken = resumeToken
        self.readTime = readTime
    }
}

/// A bloom filter as a backend sends it, unchecked.
package struct BloomFilterBits: Sendable, Equatable {
    /// The bits, the lowest of each byte first.
    package var bitmap: [UInt8]
    /// How many bits of the last byte do not count.
    package var padding: Int
    /// How many bits a key sets.
    package var hashCount: Int

    /// A filter of its parts.
    package init(bitmap: [UInt8], padding: Int, hashCount: Int) {
        self.bitmap = bitmap
        self.padding = padding
        self.hashCount = hashCount
    }
}

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

/// What a backend says of one document.
package struct DocumentReading: Sendable, Equatable {
    /// What is known of the document.
    package enum Contents: Sendable, Equatable {
        /// It exists with these fields; when it was created, where that was said.
        case found(Record, createTime: Timestamp?)
        /// It does not exist.
        case absent
    }

    /// The document.
    package var path: DocumentPath
    /// What is known of it.
    package var contents: Contents
    /// The version of the contents, or the snapshot in which it did not exist.
    package var version: SnapshotVersion

    /// What a backend says of a document.
    package init(path: DocumentPath, contents: Contents, version: SnapshotVersion) {
        self.path = path
        self.contents = contents
        self.version = version
    }

    /// Whether the document exists.
    package var exists: Bool {
        if case .found = contents { true } else { false }
    }
}
