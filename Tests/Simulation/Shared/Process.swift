import DequeModule
import LarderSharedTestSupport

/// A process of a world: a queue of work items, each run as an event of its own.
///
/// Any event may come between two items, including the end of the process.
package final class Process: @unchecked Sendable {
    // One thread runs a world.

    private let events: EventQueue
    private let chance: Chance
    private let inline = InlineExecutor()
    private var work = Deque<@Sendable () -> Void>()
    private var isStepPlanned = false

    /// True until the process has ended.
    package private(set) var isAlive = true
    /// Called before and after each work item.
    package var observer: (willStep: () -> Void, didStep: () -> Void)?

    /// A process without work.
    package init(events: EventQueue, chance: Chance) {
        self.events = events
        self.chance = chance
        inline.attach { [weak self] in self?.run($0) }
    }

    /// The executor of the actors of the process.
    package var executor: any SerialExecutor { inline }

    /// True if no work is queued.
    package var isIdle: Bool { work.isEmpty }

    /// Adds a work item to the queue.
    package func run(_ body: @escaping @Sendable () -> Void) {
        guard isAlive else { return }
        work.append(body)
        planStep()
    }

    private func planStep() {
        guard !isStepPlanned, !work.isEmpty else { return }
        isStepPlanned = true
        events.schedule(after: pause()) { [weak self] in
            self?.isStepPlanned = false
            self?.step()
        }
    }

    /// The pause before the next work item: mostly tiny, sometimes as long as on a busy machine.
    private func pause() -> Duration {
        switch chance.below(256) {
        case 0: chance.duration(.milliseconds(1)...(.seconds(3)))
        case 1..<32: chance.duration(.microseconds(10)...(.milliseconds(20)))
        default: .microseconds(Int64(chance.below(100)))
        }
    }

    private func step() {
        guard isAlive, let body = work.popFirst() else { return }
        observer?.willStep()
        guard isAlive else { return }
        inline.enter(body)
        observer?.didStep()
        planStep()
    }

    /// Runs all queued work now, with the work that it leads to.
    package func settle() {
        while isAlive, let body = work.popFirst() { inline.enter(body) }
    }

    /// Kills the process and drops its queued work.
    package func kill() {
        isAlive = false
        work = []
    }
}
