/// The log of a world: counts of faults, the first violation and a hash of all lines.
///
/// Lines are formatted only for printing or hashing.
package final class Journal<Fault: WorldFault>: @unchecked Sendable {
    // One thread runs a world.

    /// A violated guarantee.
    package struct Violation: Error, CustomStringConvertible {
        /// The guarantee and how it was violated.
        package let description: String
    }

    private let events: EventQueue
    private let isPrinting: Bool
    private let isHashing: Bool
    /// The count of each fault.
    package private(set) var faults = FaultCounts<Fault>()
    /// The first violated guarantee.
    package private(set) var violation: Violation?
    /// A hash of all lines so far, determined by the seed.
    package private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    /// A journal of the events of a queue.
    package init(of events: EventQueue, isPrinting: Bool = false, isHashing: Bool = false) {
        self.events = events
        self.isPrinting = isPrinting
        self.isHashing = isHashing
    }

    /// Records an event.
    package func note(_ line: @autoclosure () -> String) {
        guard isPrinting || isHashing else { return }
        let line = line()
        if isPrinting { print("\(events.now.seconds) \(line)") }
        for byte in "\(events.now.microseconds) \(line)\n".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }

    /// Records a fault.
    package func note(_ fault: Fault, _ detail: @autoclosure () -> String = "") {
        faults[fault] += 1
        note("! \(fault.rawValue) \(detail())")
    }

    /// Records a violated guarantee.
    package func fail(_ promise: String) {
        note("VIOLATION \(promise)")
        if violation == nil { violation = Violation(description: promise) }
    }

    /// Records a violation unless a condition holds.
    package func expect(_ holds: Bool, _ promise: @autoclosure () -> String) {
        if !holds { fail(promise()) }
    }
}

extension Duration {
    /// Seconds with six decimal places.
    fileprivate var seconds: String {
        let microseconds = microseconds
        let fraction = String(microseconds % 1_000_000 + 1_000_000).dropFirst()
        return "\(microseconds / 1_000_000).\(fraction)"
    }
}
