import DequeModule
import LarderSharedTestSupport

/// A process of a world: pieces of work, one after the other, each as an event of its own.
///
/// Between two pieces anything may happen, also the end of the process.
package final class Process: @unchecked Sendable {
    // One thread runs a world.

    private let events: EventQueue
    private let chance: Chance
    private let inline = InlineExecutor()
    private var work = Deque<@Sendable () -> Void>()
    private var isStepPlanned = false

    /// Whether it works.
    package private(set) var isAlive = true
    /// Called before and after each piece of work.
    package var observer: (willStep: () -> Void, didStep: () -> Void)?

    /// A process without work.
    package init(events: EventQueue, chance: Chance) {
        self.events = events
        self.chance = chance
        inline.attach { [weak self] in self?.run($0) }
    }

    /// What the actors of the process run on.
    package var executor: any SerialExecutor { inline }

    /// Whether nothing waits.
    package var isIdle: Bool { work.isEmpty }

    /// Adds a piece of work behind all that waits.
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

    /// How long it takes until the next piece of work begins: mostly next to nothing, now and
    /// then as long as a process on a busy machine is held up.
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

    /// Does all work that waits, and what that leads to, now.
    package func settle() {
        while isAlive, let body = work.popFirst() { inline.enter(body) }
    }

    /// Ends the process with all that waits.
    package func kill() {
        isAlive = false
        work = []
    }
}
