import LarderModel
import LarderSync
import SimulationSupport

/// A process of a client, from its beginning to its end.
final class ClientProcess: @unchecked Sendable {
    // One thread runs a world.

    private let process: Process
    private let scheduler: ProcessScheduler<EngineTimer>
    /// The client itself.
    let client: Client

    /// True while it terminates.
    var isTerminating = false
    /// True if a listener received a snapshot since the last snapshots-in-sync event.
    var isOutOfSync = false
    /// Changes of the user in progress.
    var userChangeCount = 0

    /// Starts a process that opens a client.
    ///
    /// - Parameters:
    ///   - willStep: called before each work item.
    ///   - didStep: called after each.
    init(
        events: EventQueue, chance: Chance, _ configuration: ClientConfiguration,
        willStep: @escaping () -> Void, didStep: @escaping () -> Void
    ) throws(LarderError) {
        process = Process(events: events, chance: chance.fork())
        scheduler = ProcessScheduler(events: events, process: process, chance: chance.fork())
        process.observer = (willStep, didStep)
        var configuration = configuration
        configuration.scheduler = scheduler
        client = try Client(configuration)
    }

    /// True if no work is queued.
    var isIdle: Bool { process.isIdle }

    /// Ends the process and drops its queued work.
    func kill() {
        scheduler.kill()
    }
}
