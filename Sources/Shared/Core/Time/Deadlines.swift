package import Dispatch
import Synchronization

/// Timers that are nearly always cancelled before they fire, such as timeouts of calls and idle
/// streams.
///
/// Adding and cancelling cost next to nothing and leave nothing behind. A timer of Dispatch or a
/// sleeping task occupies the system until its time, even if cancelled: at 3,000 calls per second
/// with a timeout of a minute, 180,000 of them.
///
/// Thread-safe.
/// Any thread may use it.
package final class Deadlines: @unchecked Sendable {
    // The timer is immutable after initialisation and thread-safe.
    private let timer: any DispatchSourceTimer
    private let state = Mutex(State())

    private struct State {
        var queue = DeadlineQueue<@Sendable () -> Void>()
        var timerTime = UInt64.max
    }

    /// - Parameter queue: runs the actions. Actions cancelled on this queue do not run; actions
    ///   cancelled elsewhere may already be running.
    package init(_ queue: DispatchQueue) {
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.perform() }
        timer.schedule(deadline: .distantFuture)
        timer.activate()
    }

    deinit {
        timer.cancel()
    }

    /// Runs an action after a delay, unless it is cancelled or these deadlines are released.
    package func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> Deadline {
        let now = DispatchTime.now().uptimeNanoseconds
        let (time, isOver) = now.addingReportingOverflow(delay.clampedNanoseconds)
        return state.withLock { state in
            let id = state.queue.add(action, at: isOver ? .max : time)
            setTimer(&state)
            return Deadline(deadlines: self, id: id)
        }
    }

    fileprivate func cancel(_ id: UInt64) {
        state.withLock { $0.queue.remove(id) }
    }

    /// Runs the actions that are due, in order.
    private func perform() {
        state.withLock { $0.timerTime = .max }
        // One by one, because each may cancel later ones.
        while true {
            let action = state.withLock { state in
                let action = state.queue.popDue(at: DispatchTime.now().uptimeNanoseconds)
                if action == nil { setTimer(&state) }
                return action
            }
            guard let action else { return }
            action()
        }
    }

    /// Sets the timer for the first action, unless it fires earlier anyway.
    private func setTimer(_ state: inout State) {
        guard let time = state.queue.nextTime, time < state.timerTime else { return }
        state.timerTime = time
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: time))
    }
}

/// A scheduled action; it also runs when this object is deinitialised.
package struct Deadline: Sendable {
    fileprivate let deadlines: Deadlines
    fileprivate let id: UInt64

    /// Takes it back, if it is not done yet.
    package func cancel() {
        deadlines.cancel(id)
    }
}
