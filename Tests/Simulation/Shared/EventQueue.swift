import HeapModule
package import LarderSharedTestSupport

/// What is going to happen in a world, in the order of time.
///
/// The clock stands while something happens; then it is turned to the time of what comes next.
/// What has the same time happens in the order in which it was planned.
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
    /// How much has happened.
    package private(set) var count: UInt64 = 0
    private var heap = Heap<Event>()
    private var lastNumber: UInt64 = 0
    private var isRetired = false

    /// A queue at the beginning of time.
    package init() {}

    /// The time of the world, since it began.
    package var now: Duration { clock.now }

    /// Whether nothing is going to happen.
    package var isEmpty: Bool { heap.isEmpty }

    /// Plans something for when some time has passed.
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) {
        schedule(at: now + delay, body)
    }

    /// Plans something for a time, which is not past.
    package func schedule(at time: Duration, _ body: @escaping () -> Void) {
        guard !isRetired else { return }
        lastNumber += 1
        heap.insert(Event(time: max(time, now), number: lastNumber, body: body))
    }

    /// Lets the next thing happen.
    ///
    /// - Parameter end: a time after which nothing is to happen; nil for none.
    /// - Returns: false where there is none.
    package func runNext(through end: Duration? = nil) -> Bool {
        if let end, let next = heap.min, next.time > end { return false }
        guard let event = heap.popMin() else { return false }
        clock.advance(by: event.time - now)
        count += 1
        event.body()
        return true
    }

    /// Forgets everything that is planned, and what is going to be: with it goes what it holds.
    package func retire() {
        isRetired = true
        let events = heap
        heap = Heap()
        _ = events
    }
}
