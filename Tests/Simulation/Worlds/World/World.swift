import LarderModel
import LarderSync
import SimulationSupport

/// Clients and a backend on one clock and one thread, with faults of networks, disks and processes.
///
/// A world is determined by its seed.
final class World: SimulatedWorld {
    /// The users of all clients.
    static let users = ["", "alice", "bob"]
    /// The IDs of all collections.
    static let groups = ["c", "d", "alice"]

    let seed: UInt64
    let databaseID = DatabaseID(project: "world")
    let events = EventQueue()
    let chance: Chance
    let journal: Journal
    let faults: FaultPlan
    let recognition: Recognition
    let audit: WriteAudit
    let backend: SimulatedBackend
    private(set) var clients: [SimulatedClient] = []
    var lastOperation: Duration?
    let tempo: Duration
    var writeCount = 0
    /// The collection of the clients' markers.
    static let markers = "markers"
    static let aftermath = Duration.seconds(3600)

    /// A world of a seed, with its files in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws(LarderError) {
        self.seed = seed
        chance = Chance(seed: seed)
        journal = Journal(of: events, isPrinting: isPrinting, isHashing: isHashing)
        faults = FaultPlan(chance: chance.fork())
        recognition = chance.pick([.names, .names, .markers, .none])
        audit = WriteAudit(journal: journal, isOnce: recognition != .none)
        backend = try SimulatedBackend(
            databaseID: databaseID, directory: "\(directory)/backend", events: events,
            chance: chance.fork())
        tempo = chance.duration(.milliseconds(5)...(.seconds(10)))
        for number in 1...(1 + chance.below(3)) {
            clients.append(
                SimulatedClient(number, of: self, directory: "\(directory)/client-\(number)"))
        }
    }

    deinit {
        for client in clients {
            client.end()
            client.network.retire()
        }
        backend.end()
        events.retire()
    }

    func begin() {
        for client in clients { client.open() }
    }
}

/// How writes that are sent again are recognized.
enum Recognition {
    /// Their backend keeps their names.
    case names
    /// Clients commit markers with them.
    case markers
    /// They are not.
    case none
}
