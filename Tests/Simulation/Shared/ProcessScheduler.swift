package import LarderCore
import LarderRuntime

/// The scheduler of an engine: executor, clock, timers and random numbers of the world.
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

    /// The timer's work is queued after the work that the process has when it fires.
    package func schedule(
        _ timer: Timer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let work = ScheduledWork(body)
        events.schedule(after: delay) { [weak process] in process?.run(work.perform) }
        return work.cancel
    }

    /// Reads run between work items of the engine, in no particular order.
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

    /// No other process writes to the files of a world.
    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        ScheduledWork(body)
    }

    /// Drops all timers and queued work.
    package func kill() {
        process.kill()
        reads = [:]
    }
}
