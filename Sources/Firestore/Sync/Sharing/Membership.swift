import LarderDocumentStore
import LarderModel
import LarderQuery

/// One client's part in a store that several share.
struct Membership {
    /// What is done about others that may fail, and is then done again.
    enum Task: Hashable {
        /// Hear what others did.
        case hear
        /// Tell others what no commit has told them.
        case tell
        /// Take over the network.
        case becomePrimary
        /// Look at everything anew.
        case resync
    }

    /// A wish to take a batch back.
    struct Cancellation {
        /// Whose batch it is.
        let user: UserID
        /// Who wants to know what became of it.
        var completions: [@Sendable (Result<Bool, LarderError>) -> Void] = []
    }

    let journal: Journal
    /// Whether somebody looks at the client.
    var isForeground: Bool
    /// Whether it may use the network.
    var usesNetwork: Bool
    /// Whether surplus documents go when the client is primary.
    let evicts: Bool

    /// Whether it has the lease of the network, as far as it knows.
    var hasLease: Bool
    /// Whether it uses the network for all clients.
    var isPrimary = false
    /// Whether it has not taken in what another primary told, because it believed to be one.
    var hasPassedOver = false

    /// Whether this client, by itself, can reach the backend.
    var ownState = NetworkState(.unknown, .notAsked)

    /// What others did up to this commit has been taken in.
    var heardCommit: UInt64
    /// What is under way, or waits for the disk.
    var tasks: Set<Task> = []
    /// What others are to be told.
    var unsent = StoreNews()
    /// Targets that it has told others of.
    var ownTargets: Set<Int32> = []
    /// Targets that may be wanted otherwise than others were told.
    var changedTargets: Set<Int32> = []
    /// The wishes to take batches back that the primary has not answered.
    var cancellations: [Int64: Cancellation] = [:]

    /// For the primary: what others want to hear of.
    var others = TargetRegistry<Int32>()
    /// ``others`` was read from this commit.
    var othersCommit: UInt64 = 0

    /// Views that were loaded from a commit of which not everything has been heard.
    var loadedCommits: [ViewID: UInt64] = [:]
    /// Views whose query runs on a commit that is too old.
    var staleViews: Set<ViewID> = []
    /// What wakes the client.
    var signal: AnyObject?

    init(
        _ journal: Journal, isForeground: Bool, usesNetwork: Bool, evicts: Bool,
        _ look: ClientLook
    ) {
        self.journal = journal
        self.isForeground = isForeground
        self.usesNetwork = usesNetwork
        self.evicts = evicts
        hasLease = look.hasLease
        heardCommit = look.commit
    }

    /// The client as others see it.
    func row(at now: Duration) -> ClientRow<Int32> {
        ClientRow(
            id: journal.clientID, time: now, usesNetwork: usesNetwork, isForeground: isForeground,
            targets: ownTargets, appliedCommit: heardCommit)
    }

    /// Whether what a commit told of a view's target is in the view already.
    func isKnown(_ commit: UInt64, to view: ViewID) -> Bool {
        loadedCommits[view].map { commit <= $0 } ?? false
    }
}

extension Journal {
    /// The journal of a client; nil for one that does not share its store.
    ///
    /// - Throws: `invalidArgument` for a store in memory without a signal, or a client's id that
    ///   the store does not take.
    init?(_ configuration: ClientConfiguration, directory: String?) throws(LarderError) {
        let isShared = configuration.storage.access == .shared
        guard let sharing = configuration.sharing ?? (isShared ? Sharing() : nil) else {
            return nil
        }
        guard (1...1_000).contains(sharing.clientID.utf8.count) else {
            throw .invalidArgument("a client's id has 1 to 1,000 bytes")
        }
        if let signal = sharing.signal {
            self.init(clientID: sharing.clientID, signal: signal)
        } else if let directory {
            self.init(
                clientID: sharing.clientID,
                signal: try FileSignal(
                    directory: directory, errorDomain: LarderError.firestoreDomain))
        } else {
            throw .invalidArgument("a store in memory is shared by a signal")
        }
    }
}
