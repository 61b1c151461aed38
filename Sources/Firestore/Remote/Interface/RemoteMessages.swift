package import LarderModel
package import LarderQuery

/// A request on a watch stream.
package enum WatchRequest: Sendable, Equatable {
    case add(WatchTarget)
    case remove(targetID: Int32)
}

/// A target to watch, with the point to resume from.
package struct WatchTarget: Sendable, Equatable {
    /// The point from which the backend continues.
    package enum Resumption: Sendable, Hashable {
        case none
        /// Resumes from a token of the backend, never empty.
        case token([UInt8])
        case readTime(SnapshotVersion)
    }

    /// The reason to watch a target.
    package enum Purpose: Sendable, Hashable {
        case listen
        /// The backend's document count differs from the client's.
        case existenceFilterMismatch
        /// The same, after a bloom filter could not name the documents.
        case existenceFilterMismatchBloom
        /// Checks whether a document still exists.
        case limboResolution
    }

    /// The client's target ID, above 0.
    package var id: Int32
    package var target: QueryTarget
    /// The further targets of a target of several documents.
    package var others: [QueryTarget]
    package var resumption: Resumption
    /// The number of matching documents that the client knows; sent only when resuming.
    package var expectedCount: Int?
    package var purpose: Purpose
    /// The last token that the client has received for another target; empty for none.
    ///
    /// Tells the backend what documents the client may have; the target is not resumed from it.
    package var lastToken: [UInt8]

    package init(
        id: Int32, target: QueryTarget, others: [QueryTarget] = [],
        resumption: Resumption = .none, expectedCount: Int? = nil, purpose: Purpose = .listen,
        lastToken: [UInt8] = []
    ) {
        self.id = id
        self.target = target
        self.others = others
        self.resumption = resumption
        self.expectedCount = expectedCount
        self.purpose = purpose
        self.lastToken = lastToken
    }

    package var all: [QueryTarget] { [target] + others }
}

/// The first bytes of the tokens of our backends.
package let larderTokenMark = Array("larder".utf8)

/// An event of a watch stream.
package enum WatchEvent: Sendable {
    case opened
    case response(WatchResponse)
    /// The last event: the stream has ended, with an error or, for nil, normally.
    case closed(LarderError?)
}

/// A message of a watch stream.
package enum WatchResponse: Sendable {
    case targets(TargetChange)
    /// The current state of a document, and the targets it is in or has left.
    case document(DocumentReading, targetIDs: [Int32], removedTargetIDs: [Int32])
    /// A document has left targets; its current state is unknown.
    case removed(DocumentPath, removedTargetIDs: [Int32])
    /// A document that targets contain, or have left, and that cannot be decoded; its path, if that
    /// can be.
    case unreadable(
        DocumentPath?, LarderError, targetIDs: [Int32], removedTargetIDs: [Int32])
    /// The number of documents of a target, and a filter of those that are unchanged.
    case existenceFilter(targetID: Int32, count: Int, unchanged: BloomFilterBits?)

    /// The approximate size in memory, with the document decompressed; decompresses nothing.
    package var sizeBytes: Int {
        switch self {
        case .document(let reading, _, _):
            guard case .found(let record, _) = reading.contents else { return Self.ownBytes }
            return Self.ownBytes + record.memoryBytes
        case .existenceFilter(_, _, let unchanged):
            return Self.ownBytes + (unchanged?.bitmap.count ?? 0)
        case .targets, .removed, .unreadable: return Self.ownBytes
        }
    }

    private static let ownBytes = 128
}

/// A change of some or all targets.
package struct TargetChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// No change of state; carries a token or a snapshot version.
        case none
        /// The backend watches the targets.
        case added
        /// The backend watches the targets no longer: on request, or because of an error.
        case removed(LarderError?)
        /// All changes up to the resume token have been sent.
        case current
        /// Earlier changes are invalid and will be sent again.
        case reset
    }

    package var kind: Kind
    /// The targets; empty for all.
    package var targetIDs: [Int32]
    /// The token to resume from; empty for none.
    package var resumeToken: [UInt8]
    /// The snapshot version up to which all targets are complete; set only if ``targetIDs`` is
    /// empty.
    package var readTime: SnapshotVersion

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

/// A bloom filter as received, not validated.
package struct BloomFilterBits: Sendable, Equatable {
    /// The bits, lowest first in each byte.
    package var bitmap: [UInt8]
    /// The number of unused bits in the last byte.
    package var padding: Int
    /// The number of bits set for each key.
    package var hashCount: Int

    package init(bitmap: [UInt8], padding: Int, hashCount: Int) {
        self.bitmap = bitmap
        self.padding = padding
        self.hashCount = hashCount
    }
}

/// A request on a write stream.
package enum WriteRequest: Sendable, Equatable {
    case handshake
    /// Commits mutations atomically, after all earlier writes; carries the stream's last token.
    ///
    /// A write with a name that the backend has committed is answered again. Names are sent only on
    /// streams whose handshake allows them.
    case write([Mutation], streamToken: [UInt8], once: WriteToken? = nil)
}

/// An event of a write stream.
package enum WriteEvent: Sendable {
    /// The stream is open; the client sends the handshake next.
    case opened
    /// The backend accepts writes; `keepsNames` is true if each named write is committed once.
    case handshake(streamToken: [UInt8], keepsNames: Bool = false)
    /// The oldest pending write is committed.
    case committed(CommitResponse, streamToken: [UInt8])
    /// The last event: the stream has ended, with an error that concerns the oldest pending write
    /// or, for nil, normally.
    case closed(LarderError?)
}

/// The result of a commit.
package struct CommitResponse: Sendable, Equatable {
    package var commitVersion: SnapshotVersion
    /// The result of each mutation, in order.
    package var results: [MutationResult]
    /// The documents of the mutations at or after the commit, if the results are not known.
    package var documents: [DocumentReading]?

    package init(
        commitVersion: SnapshotVersion, results: [MutationResult],
        documents: [DocumentReading]? = nil
    ) {
        self.commitVersion = commitVersion
        self.results = results
        self.documents = documents
    }
}

/// The state of a document at the backend.
package struct DocumentReading: Sendable, Equatable {
    package enum Contents: Sendable, Equatable {
        /// The document exists with these fields; the create time may be unknown.
        case found(Record, createTime: Timestamp?)
        case absent
    }

    package var path: DocumentPath
    package var contents: Contents
    /// The version of the contents, or the snapshot version in which the document did not exist.
    package var version: SnapshotVersion

    package init(path: DocumentPath, contents: Contents, version: SnapshotVersion) {
        self.path = path
        self.contents = contents
        self.version = version
    }

    package var exists: Bool {
        if case .found = contents { true } else { false }
    }
}
