import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime
import LarderSharedTestSupport
import SimulationSupport

/// The backend of a world in its own process, with the ledger that checks it.
final class SimulatedServer: @unchecked Sendable {
    // One thread runs a world.

    let rules: TreeRules
    let ledger: TreeLedger
    let storage: LedgerStorage
    private let process: Process
    private let configuration: RealtimeBackendConfiguration
    private var backend: RealtimeBackend
    private let journal: Journal

    /// A backend with an empty tree.
    init(
        events: EventQueue, chance: Chance, journal: Journal, rules: TreeRules
    ) throws(LarderError) {
        let process = Process(events: events, chance: chance.fork())
        let ledger = TreeLedger(journal: journal, rules: rules)
        var configuration = RealtimeBackendConfiguration()
        configuration.clock = { events.clock.timestamp }
        configuration.makeIdentity = { UInt64(chance.below(.max)) }
        configuration.scheduler = ProcessScheduler<RealtimeBackend.Timer>(
            events: events, process: process, chance: chance.fork())
        configuration.tokens = { SimulatedTokens.check($0) }
        configuration.rules = { ledger.decide($0) }
        configuration.observeWork = { ledger.observer() }
        (self.process, self.ledger, self.rules) = (process, ledger, rules)
        (self.configuration, self.journal) = (configuration, journal)
        storage = LedgerStorage(ledger: ledger, journal: journal)
        backend = try RealtimeBackend(configuration, storage: storage)
    }

    /// The backend's tree with all acknowledged writes.
    var tree: Node { backend.tree() }

    /// Performs an operation of the backend and records it in the ledger.
    func perform(_ cause: TreeLedger.Cause, _ body: (RealtimeBackend) -> Void) {
        ledger.enqueuing = cause
        body(backend)
        ledger.enqueuing = nil
    }

    /// Writes as an administrator.
    func write(_ path: TreePath, _ node: Node) {
        perform(.administrator(path, node)) { $0.write(TreeWrite(path, node)) }
    }

    func dropConnections() {
        journal.note(.connectionsDropped)
        perform(.endOfAll) { $0.dropConnections() }
    }

    /// Checks all listens against the rules.
    func applyRules() {
        let ledger = ledger
        backend.setRules { ledger.decide($0) }
    }

    func expireTokens() {
        backend.expireTokens()
    }

    /// Closes the backend and opens it again.
    ///
    /// - Parameter keepsNames: false to lose the names of the writes that were made.
    func restart(keepsNames: Bool) throws(LarderError) {
        journal.note(.serverRestarted)
        storage.isFailing = false
        process.settle()
        perform(.close) { $0.close { _ in } }
        process.settle()
        if !keepsNames {
            journal.note(.namesLost)
            storage.forgetNames()
            ledger.forgetNames()
        }
        backend = try RealtimeBackend(configuration, storage: storage)
    }

    /// Processes everything that has arrived.
    func settle() {
        process.settle()
    }

    /// Ends the process.
    func end() {
        process.kill()
    }
}
