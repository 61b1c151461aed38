import LarderRealtimeModel
import SimulationSupport

/// Some clients and a backend on one clock and one thread, and everything that befalls them.
///
/// What happens follows from a seed alone.
final class RealtimeWorld: SimulatedWorld {
    let seed: UInt64
    let events = EventQueue()
    let chance: Chance
    let journal: Journal
    let faults: LinkFaults
    let server: SimulatedServer
    private(set) var clients: [SimulatedDatabase] = []
    /// True if users sign out at times.
    let signsOut: Bool
    /// When the last thing was done; nil before that.
    private var lastOperation: Duration?
    /// The time that typically lies between two things that are done.
    private let tempo: Duration
    private var transactionCount = 0
    /// How long a world goes on after the last thing that is done: where nearly every connection
    /// breaks, clients would try indefinitely.
    private static let aftermath = Duration.seconds(600)

    /// A world of a seed, whose files lie in a directory.
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

    /// A number that no other transaction of the world has.
    func nextTransaction() -> Int {
        transactionCount += 1
        return transactionCount
    }

    /// Lets the world live, heal and end, or stops where a promise is broken.
    func live() throws {
        for client in clients { client.open() }
        plan(operations: 20 + chance.below(100))
        try run(through: { self.lastOperation.map { $0 + Self.aftermath } })
        try heal()
        try end()
    }

    /// Does one thing after the other, with time between them, in which the world goes on.
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

    /// Lets everything happen that is going to.
    ///
    /// - Parameter end: gives the time after which nothing more is to happen, once it is known.
    /// - Throws: the first promise that is broken.
    func run(through end: () -> Duration? = { nil }) throws {
        let start = events.count
        while journal.violation == nil, events.runNext(through: end()) {
            if events.count - start > 200_000 { journal.fail("the world does not come to rest") }
        }
        if let violation = journal.violation { throw violation }
    }
}
