import LarderRealtimeModel
import SimulationSupport

/// Clients and a backend on one clock and one thread, with faults of networks, disks and processes.
///
/// A world is determined by its seed.
final class RealtimeWorld: SimulatedWorld {
    let seed: UInt64
    let events = EventQueue()
    let chance: Chance
    let journal: Journal
    let faults: LinkFaults
    let server: SimulatedServer
    private(set) var clients: [SimulatedDatabase] = []
    /// True if users may sign out.
    let signsOut: Bool
    var lastOperation: Duration?
    let tempo: Duration
    private var transactionCount = 0
    static let aftermath = Duration.seconds(600)

    /// A world of a seed, with its files in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws {
        self.seed = seed
        chance = Chance(seed: seed)
        journal = Journal(of: events, isPrinting: isPrinting, isHashing: isHashing)
        faults = LinkFaults(chance: chance.fork())
        signsOut = chance.oneIn(3)
        server = try SimulatedServer(
            events: events, chance: chance.fork(), journal: journal,
            rules: TreeRules(needsUser: chance.oneIn(2)))
        tempo = chance.duration(.milliseconds(5)...(.seconds(10)))
        for number in 1...(1 + chance.below(3)) {
            clients.append(
                SimulatedDatabase(number, of: self, directory: "\(directory)/client-\(number)"))
        }
        server.ledger.transactionsApplied = { [weak self] client, path, before, after in
            self?.clients[client - 1].noteApplied(at: path, before, after)
        }
        server.ledger.versionsReverted = { [weak self] first in
            for client in self?.clients ?? [] { client.noteReverted(from: first) }
        }
        for client in clients {
            client.nextTransaction = { [unowned self] in nextTransaction() }
        }
    }

    deinit {
        for client in clients {
            client.end()
            client.network.retire()
        }
        server.end()
        events.retire()
    }

    /// A number for a transaction, unique in the world.
    func nextTransaction() -> Int {
        transactionCount += 1
        return transactionCount
    }

    func begin() {
        for client in clients { client.open() }
    }
}
