/// A world of clients and a backend, determined by its seed.
package protocol SimulatedWorld: AnyObject, SendableMetatype {
    associatedtype Fault: WorldFault

    /// A world of a seed, with its files in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws

    /// The journal of its events.
    var journal: Journal<Fault> { get }

    /// Runs the world to its end, or until a guarantee is violated.
    func live() throws
}
