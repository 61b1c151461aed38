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
    /// The time of the last operation; nil before it.
    private var lastOperation: Duration?
    /// The typical time between two operations.
    private let tempo: Duration
    private var transactionCount = 0
    /// The time for which a world continues after the last operation: where nearly every
    /// connection breaks, clients would retry indefinitely.
    private static let aftermath = Duration.seconds(600)

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

    /// Runs the world until it has healed and ended, or a guarantee is violated.
    func live() throws {
        for client in clients { client.open() }
        plan(operations: 20 + chance.below(100))
        try run(through: { self.lastOperation.map { $0 + Self.aftermath } })
        try heal()
        try end()
    }

    /// Schedules operations with pauses between them.
    private func plan(operations count: Int) {
        guard count > 0 else {
            lastOperation = events.now
            return
        }
        let pause = chance.oneIn(3) ? .zero : chance.duration((tempo / 20)...(tempo * 5))
        events.schedule(after: pause) { [unowned self] in
            act()
            plan(operations: count - 1)
        }
    }

    /// Runs all scheduled events.
    ///
    /// - Parameter end: the time after which no event is run; nil while there is none.
    /// - Throws: the first promise that is broken.
    func run(through end: () -> Duration? = { nil }) throws {
        let start = events.count
        while journal.violation == nil, events.runNext(through: end()) {
            if events.count - start > 200_000 { journal.fail("the world does not come to rest") }
        }
        if let violation = journal.violation { throw violation }
    }
}
