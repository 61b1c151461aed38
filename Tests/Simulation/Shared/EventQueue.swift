import HeapModule
package import LarderSharedTestSupport

/// The scheduled events of a world, by time.
///
/// The clock stands still during an event and then advances to the time of the next one. Events of
/// the same time run in the order in which they were scheduled.
package final class EventQueue: @unchecked Sendable {
    // One thread runs a world.

    private struct Event: Comparable {
        let time: Duration
        let number: UInt64
        let body: () -> Void

        static func < (left: Event, right: Event) -> Bool {
            left.time == right.time ? left.number < right.number : left.time < right.time
        }

        static func == (left: Event, right: Event) -> Bool { left.number == right.number }
    }

    /// The time of the world.
    package let clock = ManualClock()
    /// The count of events that have run.
    package private(set) var count: UInt64 = 0
    private var heap = Heap<Event>()
    private var lastNumber: UInt64 = 0
    private var isRetired = false

    /// A queue at the beginning of time.
    package init() {}

    /// The time since the beginning of the world.
    package var now: Duration { clock.now }

    /// True if no event is scheduled.
    package var isEmpty: Bool { heap.isEmpty }

    /// Schedules an event after a delay.
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) {
        schedule(at: now + delay, body)
    }

    /// Schedules an event at a time, at once if that is past.
    package func schedule(at time: Duration, _ body: @escaping () -> Void) {
        guard !isRetired else { return }
        lastNumber += 1
        heap.insert(Event(time: max(time, now), number: lastNumber, body: body))
    }

    /// Runs the next event.
    ///
    /// - Parameter end: a time after which no event is run; nil for none.
    /// - Returns: false if there is none.
    package func runNext(through end: Duration? = nil) -> Bool {
        if let end, let next = heap.min, next.time > end { return false }
        guard let event = heap.popMin() else { return false }
        clock.advance(by: event.time - now)
        count += 1
        event.body()
        return true
    }

    /// Drops all events, now and in future, with the objects that they retain.
    package func retire() {
        isRetired = true
        let events = heap
        heap = Heap()
        _ = events
    }
}
