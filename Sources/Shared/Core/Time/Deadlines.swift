package import Dispatch
import Synchronization

/// Timers that are nearly always cancelled before they fire, such as the end of the time that a
/// call may take, or a stream may go unused.
///
/// That costs next to nothing, and leaves nothing behind. A timer of Dispatch and a sleeping task
/// wait in the system until their time has come, also when nobody wants them any more: of 3,000
/// calls in a second with a minute's time each, 180,000.
///
/// Any thread may use it.
package final class Deadlines: @unchecked Sendable {
    // The timer does not change after initialisation, and any thread may set it.
    private let timer: any DispatchSourceTimer
    private let state = Mutex(State())

    private struct State {
        var queue = DeadlineQueue<@Sendable () -> Void>()
        /// The time at which the timer fires.
        var timerTime = UInt64.max
    }

    /// No deadlines yet.
    ///
    /// - Parameter queue: where what is due is done. What is taken back there is not done any more;
    ///   what is taken back elsewhere may be under way.
    package init(_ queue: DispatchQueue) {
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.perform() }
        timer.schedule(deadline: .distantFuture)
        timer.activate()
    }

    deinit {
        timer.cancel()
    }

    /// Does something after a delay, as long as these deadlines are there.
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

    /// Does what is due, in order.
    private func perform() {
        state.withLock { $0.timerTime = .max }
        // One by one: each may take the next ones back.
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

    /// Lets the timer fire for the first action, unless it fires before that anyway.
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
