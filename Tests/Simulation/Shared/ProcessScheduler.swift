package import LarderCore
import LarderRuntime

/// The threads, clocks and chance of an engine, as the world has them.
package final class ProcessScheduler<Timer: Hashable & Sendable>: Scheduler, @unchecked Sendable {
    // One thread runs a world.

    private let events: EventQueue
    private let process: Process
    private let chance: Chance
    private var reads: [UInt64: @Sendable () -> Void] = [:]
    private var lastRead: UInt64 = 0

    /// A scheduler of one process.
    package init(events: EventQueue, process: Process, chance: Chance) {
        self.events = events
        self.process = process
        self.chance = chance
    }

    package var executor: any SerialExecutor { process.executor }
    package var uptime: Duration { events.now }
    package func random() -> Double { chance.unit() }

    package func run(_ body: @escaping @Sendable () -> Void) {
        process.run(body)
    }

    /// The timer's work comes behind what the process has to do when the time is up.
    package func schedule(
        _ timer: Timer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let work = ScheduledWork(body)
        events.schedule(after: delay) { [weak process] in process?.run(work.perform) }
        return work.cancel
    }

    /// Reads run between pieces of the engine's work, not in their order.
    package func read(_ body: @escaping @Sendable () -> Void) {
        lastRead += 1
        let number = lastRead
        // The event must not keep the engine after the end of its process.
        reads[number] = body
        events.schedule(after: chance.duration(.microseconds(1)...(.milliseconds(20)))) {
            [weak self] in
            guard let self, process.isAlive else { return }
            reads.removeValue(forKey: number)?()
        }
    }

    /// Nobody else writes to the files of a world.
    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        ScheduledWork(body)
    }

    /// Lets go of everything that waits.
    package func kill() {
        process.kill()
        reads = [:]
    }
}
