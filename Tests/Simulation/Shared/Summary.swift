/// The results of many worlds.
package struct Summary<Fault: WorldFault> {
    /// The most violations that are printed.
    private static var shown: Int { 20 }

    private var faults = FaultCounts<Fault>()
    private var count = 0
    private var lastSeed: UInt64 = 0
    private var failures: [Outcome<Fault>] = []

    /// Adds a world.
    mutating func add(_ outcome: Outcome<Fault>) {
        faults.add(outcome.faults)
        count += 1
        lastSeed = max(lastSeed, outcome.seed)
        if outcome.violation != nil { failures.append(outcome) }
    }

    /// True if no guarantee was violated and every fault occurred.
    var isGood: Bool { failures.isEmpty && faults.missing.isEmpty }

    /// Prints the results.
    func report(seconds: Double) {
        for fault in Fault.allCases {
            let count = String(faults[fault])
            print(String(repeating: " ", count: max(0, 9 - count.count)) + count, fault.rawValue)
        }
        for fault in faults.missing { print("never happened: \(fault.rawValue)") }
        for failure in failures.sorted(by: { $0.seed < $1.seed }).prefix(Self.shown) {
            print("seed \(failure.seed): \(failure.violation?.prefix(600) ?? "")")
        }
        let rate = Int(Double(count) / max(seconds, 0.001))
        print(
            "\(count) worlds, the last seed is \(lastSeed), \(failures.count) with broken "
                + "promises, \(rate) a second")
    }
}
