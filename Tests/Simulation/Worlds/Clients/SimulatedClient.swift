import LarderDocumentStore
import LarderModel
import LarderSync
import LarderTestSupport
import SimulationSupport

/// A client of a world: a process with a store that outlives it, and a network of its own.
final class SimulatedClient: @unchecked Sendable {
    // One thread runs a world.

    let number: Int
    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: FaultPlan
    let network: FaultyNetwork
    let audit: WriteAudit
    let rules: RuleBook
    let disk: Disk
    let databaseID: DatabaseID
    /// Whether its writes are committed with markers.
    let isMarking: Bool
    let directory: String

    /// The client's process; nil while none runs.
    var running: ClientProcess?
    /// The last time of the client's clock.
    private(set) var lastTime = Timestamp.epoch

    /// The user whose view it shows.
    var user: UserID
    /// Writes that may still be in a queue, of all users, in order.
    var records: [WriteRecord] = []
    /// The listeners, in the order of their addition.
    var listeners: [SimulatedListener] = []
    /// True if the next commit is to be lost with the process.
    var isToLoseCommit = false
    /// The disk before the current work item if that may be lost.
    var checkpoint: Checkpoint?
    /// The count of listeners so far.
    var listenerCount = 0

    /// A client without a process.
    init(_ number: Int, of world: World, directory: String) {
        self.number = number
        (events, journal, faults) = (world.events, world.journal, world.faults)
        (audit, rules) = (world.audit, world.backend.rules)
        chance = world.chance.fork()
        network = FaultyNetwork(
            events: events, chance: world.chance.fork(), journal: journal, faults: faults,
            backend: world.backend, audit: audit, keepsNames: world.recognition == .names,
            number: number)
        disk = Disk(chance: world.chance.fork(), journal: journal)
        databaseID = world.databaseID
        isMarking = world.recognition == .markers
        self.directory = directory
        user = UserID(world.chance.pick(World.users))
    }

    /// The client while its process runs.
    var client: Client? { running?.client }

    /// The client's clock, which never shows a time twice.
    func time() -> Timestamp {
        let now = events.clock.timestamp
        let nanoseconds = lastTime.nanoseconds + 1000
        let next =
            nanoseconds < 1_000_000_000
            ? Timestamp(seconds: lastTime.seconds, nanoseconds: nanoseconds)
            : Timestamp(seconds: lastTime.seconds + 1, nanoseconds: 0)
        lastTime = SnapshotVersion(lastTime) < SnapshotVersion(now) ? now : next
        return lastTime
    }

    /// True if pending writes may make its documents differ from the backend's.
    var mayDifferFromBackend: Bool {
        (running?.userChangeCount ?? 0) > 0
            || records.contains { record in
                if case .asked = record.state { true } else { record.userID == user.string }
            }
    }

    // MARK: Requests of the application

    /// Enables or disables the network.
    func setNetwork(enabled: Bool) {
        guard let client else { return }
        if enabled {
            client.enableNetwork { _ in }
        } else {
            journal.note(.networkDisabled, "client \(number)")
            client.disableNetwork { _ in }
        }
    }

    /// Changes the user.
    func setUser(_ user: UserID) {
        guard let running else { return }
        running.userChangeCount += 1
        running.client.setUser(user) { [weak self, weak running] result in
            guard let self, case .success = result else { return }
            running?.userChangeCount -= 1
            if user != self.user { journal.note(.userChanged, "client \(number): '\(user)'") }
            self.user = user
        }
    }
}
