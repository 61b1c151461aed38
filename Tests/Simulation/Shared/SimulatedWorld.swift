/// A world of clients and a backend on one clock and one thread, determined by its seed.
package protocol SimulatedWorld: AnyObject, SendableMetatype {
    associatedtype Fault: WorldFault

    /// A world of a seed, with its files in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws

    /// The time for which a world continues after the last operation: where nearly every
    /// connection breaks, clients would retry indefinitely.
    static var aftermath: Duration { get }

    var events: EventQueue { get }
    var chance: Chance { get }
    /// The journal of its events.
    var journal: Journal<Fault> { get }
    /// The typical time between two operations.
    var tempo: Duration { get }
    /// The time of the last operation; nil before it.
    var lastOperation: Duration? { get set }

    /// Starts the clients.
    func begin()
    /// Makes a random operation.
    func act()
    /// Ends all faults, runs what remains, and compares the clients with the backend.
    func heal() throws
    /// Ends the clients and checks what they leave.
    func end() throws
}

extension SimulatedWorld {
    /// Runs the world to its end, or until a guarantee is violated.
    package func live() throws {
        begin()
        plan(operations: 20 + chance.below(100))
        try run(through: { self.lastOperation.map { $0 + Self.aftermath } })
        try heal()
        try end()
    }

    /// Schedules operations with pauses between them.
    private func plan(operations count: Int) {
        guard count > 0 else {
            lastOperation = events.now
            return
        }
        let pause = chance.oneIn(3) ? .zero : chance.duration((tempo / 20)...(tempo * 5))
        events.schedule(after: pause) { [unowned self] in
            act()
            plan(operations: count - 1)
        }
    }

    /// Runs all scheduled events.
    ///
    /// - Parameter end: the time after which no event is run; nil while there is none.
    /// - Throws: the first guarantee that is violated.
    package func run(through end: () -> Duration? = { nil }) throws {
        let start = events.count
        while journal.violation == nil, events.runNext(through: end()) {
            if events.count - start > 200_000 { journal.fail("the world does not come to rest") }
        }
        if let violation = journal.violation { throw violation }
    }
}
