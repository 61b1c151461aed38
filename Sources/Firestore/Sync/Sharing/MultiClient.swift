import LarderDocumentStore
import LarderModel
import LarderQuery

/// One client's part in a store that several clients share: which of them uses the network, what
/// it has yet to tell the others, and how far it has applied what they did.
///
///                  lease taken          network taken over
///     secondary ----------------> owner -------------------> primary
///         ^                         |                           |
///         +-------------------------+---------------------------+
///                     lease lost, given up or not renewed
///
/// A pure state machine: events return effects, which the engine performs in order. Of several
/// effects a later one may find that an earlier one has changed the role.
struct MultiClient {
    enum Role {
        /// Another client may have the network.
        case secondary
        /// Has the lease, and is about to take over the network.
        case owner
        /// Uses the network for all clients of the store.
        case primary
    }

    /// Work on the store that is repeated until it succeeds, one of a kind at a time.
    enum Task: Hashable {
        /// Apply the changes of other clients.
        case applyChanges
        /// Publish ``MultiClient/unsent``.
        case publish
        /// Take over the network.
        case becomePrimary
        /// Compare everything with the store.
        case resync
    }

    enum Effect {
        /// Set the timer of the lease.
        case renewLease(after: Duration)
        case run(Task)
        /// Stop using the network for other clients, and for this one.
        case releaseNetwork
        /// Show the state of the network that the primary has published.
        case show(NetworkState)
        /// Release the targets of a client that has ended without leaving.
        case forget(client: String)
        /// Evict documents beyond the budget, as primary.
        case evictSurplus
    }

    /// A request to take a batch back, which the primary has not answered.
    struct Cancellation {
        /// The user who made the batch.
        let user: UserID
        var completions: [@Sendable (Result<Bool, LarderError>) -> Void] = []
    }

    let journal: SharedJournal
    /// Whether the client is in the foreground; foreground clients are preferred as primary.
    var isForeground: Bool
    /// Whether it may use the network.
    var usesNetwork: Bool
    /// Whether documents beyond the budget are evicted while the client is primary.
    let evicts: Bool
    private(set) var role = Role.secondary

    /// Changes of other clients up to this commit have been applied.
    private(set) var appliedCommit: UInt64
    /// The changes to pass to other clients.
    var unsent = SharedChange()
    /// The targets that other clients know this one to listen to.
    private var ownTargets: Set<Int32> = []
    /// Targets that may have gained or lost their listeners since.
    private var changedTargets: Set<Int32> = []
    private var cancellations: [Int64: Cancellation] = [:]
    /// The state of the network by this client's own streams.
    private var ownNetwork = NetworkState(.unknown, .notAsked)
    private var tasks: Set<Task> = []

    /// For the primary: the targets of other clients.
    private(set) var others = TargetRegistry<Int32>()
    /// The commit from which ``others`` was read.
    private(set) var othersCommit: UInt64 = 0
    /// Whether changes of another primary were skipped while this client believed to be primary.
    private var hasSkippedChanges = false

    /// Views that were loaded from a commit beyond ``appliedCommit``.
    private var loadedCommits: [ViewID: UInt64] = [:]
    /// Views whose query runs on a commit that is too old.
    private var staleViews: Set<ViewID> = []

    /// The state of the store when the client joined it, until it starts.
    private var joined: ClientScan?

    init(
        _ journal: SharedJournal, isForeground: Bool, usesNetwork: Bool, evicts: Bool,
        joined: ClientScan
    ) {
        self.journal = journal
        self.isForeground = isForeground
        self.usesNetwork = usesNetwork
        self.evicts = evicts
        self.joined = joined
        appliedCommit = joined.commit
    }

    var isPrimary: Bool { role == .primary }

    /// The client as the others see it.
    func row(at now: Duration) -> ClientRow<Int32> {
        ClientRow(
            id: journal.clientID, time: now, usesNetwork: usesNetwork, isForeground: isForeground,
            targets: ownTargets, appliedCommit: appliedCommit)
    }

    /// Begins a task.
    ///
    /// - Returns: whether it was not under way.
    mutating func begin(_ task: Task) -> Bool { tasks.insert(task).inserted }

    mutating func end(_ task: Task) {
        tasks.remove(task)
    }

    // MARK: The lease

    mutating func start() -> [Effect] {
        defer { joined = nil }
        return joined.map { found($0) } ?? []
    }

    /// The client has joined the store, or renewed its row.
    mutating func found(_ scan: ClientScan) -> [Effect] {
        var effects = scan.hadLease && scan.hasLease ? [] : stepDown()
        effects.append(.renewLease(after: scan.nextLook))
        if !isPrimary {
            role = scan.hasLease ? .owner : .secondary
            if let network = scan.network { effects.append(.show(network)) }
            if scan.hasLease { effects.append(.run(.becomePrimary)) }
        }
        return effects + scan.lostClients.map { .forget(client: $0) } + [.evictSurplus]
    }

    /// A transaction has found that another client has the lease.
    mutating func lostLease() -> [Effect] { stepDown() + [.renewLease(after: .zero)] }

    /// The network has been taken over.
    mutating func becamePrimary(_ others: TargetRegistry<Int32>, at commit: UInt64) {
        role = .primary
        unsent.takesLease = true
        readOthers(others, at: commit)
    }

    private mutating func stepDown() -> [Effect] {
        guard isPrimary else { return [] }
        role = .secondary
        others = TargetRegistry()
        unsent.forgetWhatPrimariesTell()
        defer { hasSkippedChanges = false }
        return hasSkippedChanges ? [.releaseNetwork, .run(.resync)] : [.releaseNetwork]
    }

    /// Takes in what this client's streams know of the network, if it is primary.
    ///
    /// The former primary's state stays valid until this client's own state changes.
    ///
    /// - Returns: what to show.
    mutating func merge(_ own: NetworkState, into shown: NetworkState) -> NetworkState {
        let known = ownNetwork
        ownNetwork = own
        guard isPrimary else { return shown }
        let takesState = own.state != known.state || own.state == shown.state
        let takesListeners =
            own.listenerState != known.listenerState || own.listenerState == shown.listenerState
        let merged = NetworkState(
            takesState ? own.state : shown.state, takesState ? own.reason : shown.reason,
            listeners: takesListeners ? own.listenerState : shown.listenerState,
            isSilent: takesListeners ? own.isSilent : shown.isSilent)
        guard takesState || takesListeners, merged != shown else { return shown }
        unsent.network = merged
        return merged
    }

    // MARK: Targets

    /// Notes that a target may have gained or lost its listeners.
    mutating func note(target id: Int32) {
        changedTargets.insert(id)
    }

    /// Collects the targets that have gained or lost their listeners.
    mutating func collectTargets(isWanted: (Int32) -> Bool) -> [Effect] {
        for id in changedTargets {
            let isWanted = isWanted(id)
            guard isWanted != ownTargets.contains(id) else { continue }
            if isWanted {
                ownTargets.insert(id)
                unsent.begunTargets.insert(id)
            } else {
                endTarget(id)
            }
        }
        changedTargets = []
        return unsent.isEmpty ? [] : [.run(.publish)]
    }

    /// Ends a target, even if a listener wants it again at once.
    mutating func endTarget(_ id: Int32) {
        guard ownTargets.remove(id) != nil else { return }
        if unsent.begunTargets.remove(id) == nil { unsent.endedTargets.insert(id) }
    }

    /// The backend refuses a target.
    mutating func rejected(_ id: Int32, _ error: LarderError) {
        unsent.rejections[id] = error
        others.forget(id)
        endTarget(id)
    }

    mutating func beginTargets(_ ids: Set<Int32>, of client: String) {
        others.begin(ids, of: client)
    }

    mutating func endTargets(_ ids: Set<Int32>, of client: String) {
        others.end(ids, of: client)
    }

    /// Replaces the targets of the other clients by those in the store.
    mutating func readOthers(_ others: TargetRegistry<Int32>, at commit: UInt64) {
        self.others = others
        othersCommit = commit
    }
}

// MARK: - Changes of other clients

extension MultiClient {
    /// A change of another client that only a primary can make, while this client is primary:
    /// another has the network, and the change is skipped.
    ///
    /// - Returns: nil for a change that is to be applied.
    mutating func skip(_ change: SharedChange) -> [Effect]? {
        guard isPrimary, change.isOfPrimary else { return nil }
        hasSkippedChanges = true
        return [.renewLease(after: .zero)]
    }

    /// Changes up to a commit have been applied.
    mutating func applied(_ commit: UInt64) {
        guard commit > appliedCommit else { return }
        appliedCommit = commit
        if !loadedCommits.isEmpty { loadedCommits = loadedCommits.filter { $0.value > commit } }
    }

    /// Everything up to a commit was compared with the store, while views were being loaded.
    mutating func resynced(_ commit: UInt64, loading views: some Sequence<ViewID>) {
        appliedCommit = max(appliedCommit, commit)
        loadedCommits = [:]
        staleViews.formUnion(views)
    }

    /// A change has missed a view whose query is running.
    mutating func markStale(_ view: ViewID) {
        staleViews.insert(view)
    }

    /// Whether a change has missed a view since its query began; asked once.
    mutating func takeStale(_ view: ViewID) -> Bool { staleViews.remove(view) != nil }

    /// A view was loaded from a commit.
    mutating func loaded(_ view: ViewID, from commit: UInt64) {
        if commit > appliedCommit { loadedCommits[view] = commit }
    }

    /// Whether a view was loaded from a commit, or a later one.
    func isLoaded(_ view: ViewID, from commit: UInt64) -> Bool {
        loadedCommits[view].map { commit <= $0 } ?? false
    }

    // MARK: Cancellations

    /// Asks the primary to take a batch back.
    mutating func cancel(
        _ batchID: Int64, of user: UserID,
        _ completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        cancellations[batchID, default: Cancellation(user: user)].completions.append(completion)
        unsent.cancellations.append(batchID)
        unsent.user = user
    }

    /// Answers a request to take a batch back.
    mutating func answer(_ batchID: Int64, _ result: Result<Bool, LarderError>) {
        let answered = cancellations.removeValue(forKey: batchID)
        for completion in answered?.completions ?? [] { completion(result) }
    }

    /// Asks the primary once more, which is another now, or whose answers were missed.
    ///
    /// Batches of former users stay in the queue.
    mutating func repeatCancellations(of user: UserID) {
        for (id, wish) in cancellations where wish.user != user { answer(id, .success(false)) }
        unsent.cancellations = cancellations.keys.sorted()
        unsent.user = user
    }

    /// Repeats all requests to the primary, whose rejections and answers were missed.
    mutating func repeatRequests(of user: UserID) {
        unsent.begunTargets.formUnion(ownTargets)
        repeatCancellations(of: user)
    }

    /// Takes the requests, which this client as primary answers itself.
    mutating func takeCancellations() -> [(id: Int64, cancellation: Cancellation)] {
        defer { cancellations = [:] }
        if !cancellations.isEmpty { unsent.cancellations = [] }
        return cancellations.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
