package import LarderDocumentStore
package import LarderModel

/// The changes of one client's commit that concern the other clients of its store.
package struct SharedChange: Sendable, Equatable {
    /// Documents whose cached state or pending writes have changed; nil for an unknown set.
    package var documents: [DocumentPath]? = []
    /// The user of ``batches`` and ``cancellations``.
    package var user = UserID.unauthenticated
    /// Batches that entered or left the user's queue, in order.
    package var batches: [Batch] = []
    package var targets: [Int32: Target] = [:]
    /// Targets that the backend has rejected.
    package var rejections: [Int32: LarderError] = [:]
    /// Targets whose stored state was discarded because documents were evicted.
    package var forgottenTargets: Set<Int32> = []
    package var network: NetworkState?
    /// Targets that the client has begun to listen to.
    package var begunTargets: Set<Int32> = []
    /// Targets that it has stopped listening to.
    package var endedTargets: Set<Int32> = []
    /// Batches of the user to cancel, unless the primary has sent them.
    package var cancellations: [Int64] = []
    package var hasLeft = false
    /// Whether the lease of the network is free.
    package var freesLease = false
    /// Whether the client has become primary.
    package var takesLease = false

    package init() {}

    /// The outcome of a batch.
    package struct Batch: Sendable, Equatable {
        package enum State: Sendable, Equatable {
            case pending
            case acknowledged
            case rejected(LarderError)
            case cancelled
            /// It cannot be cancelled: its response is awaited.
            case kept
        }

        package var id: Int64
        /// Its outcome.
        package var state: State

        package init(_ id: Int64, _ state: State) {
            self.id = id
            self.state = state
        }
    }

    /// A change of a target at the backend.
    package struct Target: Sendable, Equatable {
        package var isCurrent: Bool
        package var added: [DocumentPath]
        package var removed: [DocumentPath]
        /// Whether the count of documents did not agree, and the target is sent again.
        package var isReset: Bool

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

    /// The maximum number of listed documents.
    package static let maxDocuments = 20_000

    /// Adds changed documents.
    package mutating func note(_ paths: some Collection<DocumentPath>) {
        guard let known = documents, known.count + paths.count <= Self.maxDocuments else {
            documents = nil
            return
        }
        documents = known + paths
    }

    /// Whether pending writes were rejected or cancelled.
    package var revertsWrites: Bool {
        batches.contains { batch in
            switch batch.state {
            case .rejected, .cancelled: true
            case .pending, .acknowledged, .kept: false
            }
        }
    }

    /// Whether there is nothing to share.
    package var isEmpty: Bool {
        var nothing = SharedChange()
        nothing.user = user
        return self == nothing
    }

    /// Whether only a primary can make this change.
    package var isOfPrimary: Bool {
        !targets.isEmpty || !rejections.isEmpty || network != nil && !hasLeft
    }

    /// Removes what only a primary can share: the next one finds it out itself.
    package mutating func forgetWhatPrimariesTell() {
        (targets, rejections, network) = ([:], [:], nil)
    }
}
