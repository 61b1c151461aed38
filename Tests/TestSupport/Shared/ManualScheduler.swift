package import LarderCore
import LarderRuntime
import Synchronization

/// Runs an engine on the calling thread, on a clock that only tests turn.
///
/// Nothing happens by itself: ``drain()`` runs what waits, ``fire(_:)`` and the clock let timers
/// fire. Several engines may share a ``ManualClock``.
package final class ManualScheduler<Timer: Hashable & Sendable>: Scheduler {
    /// A timer that is set.
    package struct SetTimer: Sendable {
        /// Its name.
        package let timer: Timer
        /// When it fires, by the clock.
        package let time: Duration
        fileprivate let place: UInt64
        fileprivate let work: ScheduledWork
    }

    private struct State {
        var queue: [@Sendable () -> Void] = []
        var timers: [SetTimer] = []
        var lastPlace: UInt64 = 0
        var random: SeededRandom
        var isRetired = false
    }

    /// The clock.
    package let clock: ManualClock
    private let state: Mutex<State>
    private let inline = InlineExecutor()

    /// A scheduler that has done nothing yet.
    package init(clock: ManualClock = ManualClock(), seed: UInt64 = 1) {
        self.clock = clock
        state = Mutex(State(random: SeededRandom(seed: seed)))
        inline.attach { [weak self] in self?.run($0) }
    }

    package var executor: any SerialExecutor { inline }

    package var uptime: Duration { clock.now }

    package func random() -> Double {
        state.withLock { Double.random(in: 0..<1, using: &$0.random) }
    }

    package func run(_ body: @escaping @Sendable () -> Void) {
        state.withLock { if !$0.isRetired { $0.queue.append(body) } }
    }

    package func read(_ body: @escaping @Sendable () -> Void) {
        run(body)
    }

    package func schedule(
        _ timer: Timer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let work = ScheduledWork(body)
        let place = state.withLock { state in
            state.lastPlace += 1
            guard !state.isRetired else { return state.lastPlace }
            state.timers.append(
                SetTimer(
                    timer: timer, time: clock.now + delay, place: state.lastPlace, work: work))
            return state.lastPlace
        }
        return { [weak self] in
            work.cancel()
            self?.state.withLock { $0.timers.removeAll { $0.place == place } }
        }
    }

    /// Files are not watched: tests say themselves when another process has written.
    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        ScheduledWork(body)
    }

    // MARK: What tests do

    /// Forgets what waits, and all that comes from now on.
    ///
    /// A timer that never fires retains its closure, and the store with it.
    package func retire() {
        let (queue, timers) = state.withLock { state in
            state.isRetired = true
            defer { (state.queue, state.timers) = ([], []) }
            return (state.queue, state.timers)
        }
        // Outside of the lock: what goes may have something to say.
        _ = (queue, timers)
    }

    /// The timers that are set, in the order in which they fire.
    package var timers: [SetTimer] {
        state.withLock { $0.timers }.sorted { ($0.time, $0.place) < ($1.time, $1.place) }
    }

    /// Runs what waits, and what that leads to, until nothing waits.
    ///
    /// - Returns: whether anything ran.
    @discardableResult
    package func drain() -> Bool {
        var ranAny = false
        while let body = next() {
            ranAny = true
            inline.enter(body)
        }
        return ranAny
    }

    /// Runs one closure that waits.
    ///
    /// - Returns: false if none waits.
    package func runNext() -> Bool {
        guard let body = next() else { return false }
        inline.enter(body)
        return true
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { $0.queue.isEmpty ? nil : $0.queue.removeFirst() }
    }

    /// Lets every timer up to the first with a name fire, without waiting for their times, and
    /// drains after each.
    ///
    /// - Parameter last: the name; nil for all that are set now.
    /// - Returns: whether a timer of that name was set.
    @discardableResult
    package func fire(upTo last: Timer?) -> Bool {
        for set in timers {
            fire(set)
            if set.timer == last { return true }
        }
        return last == nil
    }

    /// Lets one timer fire if it is set, and drains.
    @discardableResult
    package func fire(_ timer: Timer) -> Bool {
        guard let set = timers.first(where: { $0.timer == timer }) else { return false }
        fire(set)
        return true
    }

    /// Lets every timer fire whose time has come, and drains after each.
    package func fireDue() {
        while let set = timers.first, set.time <= clock.now { fire(set) }
    }

    private func fire(_ set: SetTimer) {
        state.withLock { state in state.timers.removeAll { $0.place == set.place } }
        inline.enter(set.work.perform)
        drain()
    }
}
