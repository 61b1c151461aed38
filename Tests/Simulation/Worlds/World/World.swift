import LarderModel
import LarderSync
import SimulationSupport

/// Some clients and a backend on one clock and one thread, and everything that befalls them.
///
/// What happens follows from a seed alone.
final class World: SimulatedWorld {
    /// The users of all clients.
    static let users = ["", "alice", "bob"]
    /// The ids of all collections.
    static let groups = ["c", "d", "alice"]

    let seed: UInt64
    let databaseID = DatabaseID(project: "world")
    let events = EventQueue()
    let chance: Chance
    let journal: Journal
    let faults: FaultPlan
    let audit: WriteAudit
    let backend: SimulatedBackend
    private(set) var clients: [SimulatedClient] = []
    /// When the last thing was done; nil before that.
    private var lastOperation: Duration?
    /// How long it is typically between two things that are done.
    let tempo: Duration
    var writeCount = 0
    /// How long a world goes on after the last thing that is done: where nearly every stream
    /// breaks, clients would try for ever.
    private static let aftermath = Duration.seconds(3600)

    /// A world of a seed, whose files lie in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws(LarderError) {
        self.seed = seed
        chance = Chance(seed: seed)
        journal = Journal(of: events, isPrinting: isPrinting, isHashing: isHashing)
        faults = FaultPlan(chance: chance.fork())
        audit = WriteAudit(journal: journal)
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
