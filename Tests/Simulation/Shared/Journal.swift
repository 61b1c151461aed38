/// What has happened in a world: what went wrong, how often, and a hash of all of it.
///
/// Lines are put together only where somebody wants them.
package final class Journal<Fault: WorldFault>: @unchecked Sendable {
    // One thread runs a world.

    /// A promise that was not kept.
    package struct Violation: Error, CustomStringConvertible {
        /// Which promise, and how.
        package let description: String
    }

    private let events: EventQueue
    private let isPrinting: Bool
    private let isHashing: Bool
    /// How often each fault has happened.
    package private(set) var faults = FaultCounts<Fault>()
    /// The first promise that was not kept.
    package private(set) var violation: Violation?
    /// A hash of every line so far; of the same seed always the same.
    package private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    /// A journal of the events of a queue.
    package init(of events: EventQueue, isPrinting: Bool = false, isHashing: Bool = false) {
        self.events = events
        self.isPrinting = isPrinting
        self.isHashing = isHashing
    }

    /// Notes something that has happened.
    package func note(_ line: @autoclosure () -> String) {
        guard isPrinting || isHashing else { return }
        let line = line()
        if isPrinting { print("\(events.now.seconds) \(line)") }
        for byte in "\(events.now.microseconds) \(line)\n".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }

    /// Notes a fault.
    package func note(_ fault: Fault, _ detail: @autoclosure () -> String = "") {
        faults[fault] += 1
        note("! \(fault.rawValue) \(detail())")
    }

    /// Notes that a promise was not kept.
    package func fail(_ promise: String) {
        note("VIOLATION \(promise)")
        if violation == nil { violation = Violation(description: promise) }
    }

    /// Notes a broken promise unless something holds.
    package func expect(_ holds: Bool, _ promise: @autoclosure () -> String) {
        if !holds { fail(promise()) }
    }
}

extension Duration {
    /// Seconds with six digits behind the point, for people.
    fileprivate var seconds: String {
        let microseconds = microseconds
        let fraction = String(microseconds % 1_000_000 + 1_000_000).dropFirst()
        return "\(microseconds / 1_000_000).\(fraction)"
    }
}
