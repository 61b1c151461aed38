import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

/// A process that runs one client.
final class DatabaseProcess: @unchecked Sendable {
    // One thread runs a world.

    private let process: Process
    private let scheduler: ProcessScheduler<DatabaseTimer>
    /// The client itself.
    let client: DatabaseClient
    /// True while it is being terminated.
    var isTerminating = false

    /// Starts a process and opens its client.
    init(
        events: EventQueue, chance: Chance, _ configuration: DatabaseClientConfiguration,
        didStep: @escaping () -> Void
    ) throws(LarderError) {
        process = Process(events: events, chance: chance.fork())
        scheduler = ProcessScheduler(events: events, process: process, chance: chance.fork())
        process.observer = ({}, didStep)
        var configuration = configuration
        configuration.scheduler = scheduler
        client = try DatabaseClient(configuration)
    }

    /// True if no work is queued.
    var isIdle: Bool { process.isIdle }

    /// Kills the process and drops its queued work.
    func kill() {
        scheduler.kill()
    }
}
