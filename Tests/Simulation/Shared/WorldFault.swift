/// Faults and rare events, each of which must occur in every long run of worlds.
package protocol WorldFault: Hashable, CaseIterable, RawRepresentable<String>, Sendable
where AllCases == [Self] {}

/// The count of each fault.
package struct FaultCounts<Fault: WorldFault>: Sendable {
    private var counts: [Fault: Int] = [:]

    package init() {}

    package subscript(fault: Fault) -> Int {
        get { counts[fault, default: 0] }
        set { counts[fault] = newValue }
    }

    /// Adds the counts of another world.
    package mutating func add(_ other: FaultCounts) {
        counts.merge(other.counts) { $0 + $1 }
    }

    /// Faults that never happened.
    package var missing: [Fault] { Fault.allCases.filter { self[$0] == 0 } }
}
