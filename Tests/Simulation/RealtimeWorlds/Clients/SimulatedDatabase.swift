import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderSharedTestSupport
import LarderStorage
import SimulationSupport

/// A client of a world, with its own network and a store that outlives its processes.
final class SimulatedDatabase: @unchecked Sendable {
    // One thread runs a world.

    let number: Int
    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: LinkFaults
    let ledger: TreeLedger
    let network: LinkNetwork
    let tokens: SimulatedTokens
    let directory: String
    /// The offset of the client's clock.
    private let skew: Int64
    private let keepsToken: Bool
    private let authenticates: Bool
    let mergesOverwrittenWrites: Bool

    /// The client's process; nil while none runs.
    var running: DatabaseProcess?
    /// True while the disk refuses commits.
    var isDiskFailing = false
    /// True if the disk has refused a commit, and none has been made since.
    var hasUncommitted = false
    /// Every request so far, in order.
    var records: [RequestRecord] = []
    /// The requests that may still be sent, in order.
    var queue: [RequestRecord] = []
    /// Every transaction so far, by number.
    var transactions: [Int: TransactionRecord] = [:]
    /// The locations of the transactions that the client has in its queue.
    var queuedTransactions: [TreePath] = []
    var listeners: [TreeListener] = []
    var keptQueries: [QuerySpec] = []
    /// Numbers transactions, through the whole world.
    var nextTransaction: () -> Int = { 0 }
    private var lastListener: UInt = 0
    private var lastOrder = 0

    /// A client without a process.
    init(_ number: Int, of world: RealtimeWorld, directory: String) {
        self.number = number
        (events, journal, faults) = (world.events, world.journal, world.faults)
        ledger = world.server.ledger
        chance = world.chance.fork()
        network = LinkNetwork(
            events: events, chance: world.chance.fork(), journal: journal, faults: faults,
            server: world.server, number: number)
        tokens = SimulatedTokens(
            events: events, chance: world.chance.fork(), journal: journal, faults: faults,
            user: "user\(number)")
        self.directory = directory
        skew = Int64(world.chance.below(20_000)) - 10_000
        keepsToken = world.chance.oneIn(2)
        authenticates = world.server.rules.needsUser || world.chance.oneIn(2)
        mergesOverwrittenWrites = world.chance.oneIn(3)
        network.sending = { [weak self] in self?.willSend($0, $1) }
    }

    /// The client while its process is running.
    var client: DatabaseClient? {
        running?.isTerminating == false ? running?.client : nil
    }

    func nextOrder() -> Int {
        lastOrder += 1
        return lastOrder
    }

    func nextListener() -> ListenerID {
        lastListener += 1
        return ListenerID(lastListener)
    }

    var configuration: DatabaseClientConfiguration {
        var storage = StoreConfiguration(directory: directory)
        storage.durability = .lastCommitAtRisk
        storage.errorDomain = LarderError.realtimeDomain
        var configuration = DatabaseClientConfiguration(storage: storage)
        configuration.remote = network
        configuration.tokens = authenticates ? tokens : nil
        configuration.keepsToken = keepsToken
        configuration.mergesOverwrittenWrites = mergesOverwrittenWrites
        let (events, skew) = (events, skew)
        configuration.clock = {
            let time = events.clock.timestamp
            return Timestamp(seconds: time.seconds + skew, nanoseconds: time.nanoseconds)
        }
        configuration.guarding = { [weak self] () throws(LarderError) in try self?.beginCommit() }
        configuration.log = { [journal, number] in journal.note("client \(number) logs \($0)") }
        return configuration
    }

    private func beginCommit() throws(LarderError) {
        guard isDiskFailing else {
            hasUncommitted = false
            for record in records where record.mayReturn { record.mayReturn = false }
            return
        }
        hasUncommitted = true
        journal.note(.diskFailure)
        throw LarderError(realtime: .unavailable, "the disk refuses")
    }
}
