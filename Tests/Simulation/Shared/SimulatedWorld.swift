/// A world of clients and a backend: what happens in it follows from a seed alone.
package protocol SimulatedWorld: AnyObject, SendableMetatype {
    associatedtype Fault: WorldFault

    /// A world of a seed, whose files lie in a directory.
    init(seed: UInt64, directory: String, isPrinting: Bool, isHashing: Bool) throws

    /// What has happened in it.
    var journal: Journal<Fault> { get }

    /// Lets the world live to its end, or stops where a promise is broken.
    func live() throws
}
