package import LarderDocumentStore
package import LarderModel

/// What a commit of one client tells the others that share its store.
package struct SharedChange: Sendable, Equatable {
    /// Documents of which the cache, or somebody's pending writes, have changed; nil for any.
    package var documents: [DocumentPath]? = []
    /// Whose batches ``batches`` are.
    package var user = UserID.unauthenticated
    /// Batches that came into the user's queue or left it, in order.
    package var batches: [Batch] = []
    /// What the backend has told of targets.
    package var targets: [Int32: Target] = [:]
    /// Targets that the backend has refused, with its reasons.
    package var rejections: [Int32: LarderError] = [:]
    /// Targets of which the store has forgotten what the backend has told, since documents that
    /// they held were evicted.
    package var forgottenTargets: Set<Int32> = []
    /// Whether the backend can be reached.
    package var network: NetworkState?
    /// Targets that the client wants to hear of from now on.
    package var begunTargets: Set<Int32> = []
    /// Targets that it wants to hear of no longer.
    package var endedTargets: Set<Int32> = []
    /// Batches of the user that the client wants to take back, unless the primary has sent them.
    package var cancellations: [Int64] = []
    /// Whether the client has ended.
    package var hasLeft = false
    /// Whether nobody has the lease of the network any more.
    package var freesLease = false
    /// Whether the client has the network from now on.
    package var takesLease = false

    /// Nothing yet.
    package init() {}

    /// What has become of a batch.
    package struct Batch: Sendable, Equatable {
        /// Its state in the queue.
        package enum State: Sendable, Equatable {
            /// It waits for the backend.
            case pending
            /// The backend has committed it.
            case acknowledged
            /// The backend has refused it.
            case rejected(LarderError)
            /// The application has taken it back.
            case cancelled
            /// It cannot be taken back: its answer is awaited.
            case kept
        }

        /// The batch.
        package var id: Int64
        /// What has become of it.
        package var state: State

        /// A batch in some state.
        package init(_ id: Int64, _ state: State) {
            self.id = id
            self.state = state
        }
    }

    /// What the backend has told of a target.
    package struct Target: Sendable, Equatable {
        /// Whether it has told all that there was.
        package var isCurrent: Bool
        /// Documents that came into the target.
        package var added: [DocumentPath]
        /// Documents that left it.
        package var removed: [DocumentPath]
        /// Whether the backend's count of documents did not agree: all is told again.
        package var isReset: Bool

        /// What was told of a target.
        package init(
            isCurrent: Bool, added: [DocumentPath] = [], removed: [DocumentPath] = [],
            isReset: Bool = false
        ) {
            self.isCurrent = isCurrent
            self.added = added
            self.removed = removed
            self.isReset = isReset
        }
    }

    /// More documents than this are not listed.
    package static let maxDocuments = 20_000

    /// Notes documents that have changed.
    package mutating func note(_ paths: some Collection<DocumentPath>) {
        guard let known = documents, known.count + paths.count <= Self.maxDocuments else {
            documents = nil
            return
        }
        documents = known + paths
    }

    /// Whether pending writes are gone that no backend has made.
    package var revertsWrites: Bool {
        batches.contains { batch in
            switch batch.state {
            case .rejected, .cancelled: true
            case .pending, .acknowledged, .kept: false
            }
        }
    }

    /// Whether nobody needs to hear of it.
    package var isEmpty: Bool {
        var nothing = SharedChange()
        nothing.user = user
        return self == nothing
    }

    /// Whether only a client that has the network can have told this.
    package var isOfPrimary: Bool {
        !targets.isEmpty || !rejections.isEmpty || network != nil && !hasLeft
    }

    /// Forgets what only a client that has the network can tell: the next one finds it out itself.
    package mutating func forgetWhatPrimariesTell() {
        (targets, rejections, network) = ([:], [:], nil)
    }
}
