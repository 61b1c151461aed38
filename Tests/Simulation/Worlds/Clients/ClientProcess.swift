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

    /// Whether it is being terminated.
    var isTerminating = false
    /// Whether a listener was told something since those who wait for agreement were.
    var isOutOfSync = false
    /// Changes of the user that are under way.
    var userChangeCount = 0

    /// Begins a process, which opens a client.
    ///
    /// - Parameters:
    ///   - willStep: called before each piece of its work.
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

    /// Whether no work waits.
    var isIdle: Bool { process.isIdle }

    /// Ends the process with all that waits.
    func kill() {
        scheduler.kill()
    }
}
