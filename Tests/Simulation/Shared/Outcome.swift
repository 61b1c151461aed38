import Foundation

/// What became of a world.
package struct Outcome<Fault: WorldFault>: Sendable {
    /// The seed of the world.
    package let seed: UInt64
    /// The promise that was broken; nil for none.
    package let violation: String?
    /// A hash of all that has happened, where it was asked for.
    package let hash: UInt64
    /// How often what has gone wrong.
    package let faults: FaultCounts<Fault>

    /// Lets the world of a seed live to its end.
    ///
    /// - Parameters:
    ///   - isPrinting: whether everything that happens is printed.
    ///   - isHashing: whether ``hash`` is computed.
    ///   - prepare: called with the world before it begins.
    package init<World: SimulatedWorld>(
        of type: World.Type, seed: UInt64, isPrinting: Bool = false, isHashing: Bool = false,
        _ prepare: (World) -> Void = { _ in }
    ) where World.Fault == Fault {
        self.seed = seed
        var (violation, hash, faults) = (String?.none, UInt64(0), FaultCounts<Fault>())
        do {
            let directory = try WorldDirectory.make()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let world = try World(
                seed: seed, directory: directory, isPrinting: isPrinting, isHashing: isHashing)
            prepare(world)
            defer { (hash, faults) = (world.journal.hash, world.journal.faults) }
            try world.live()
        } catch {
            violation = "\(error)"
        }
        (self.violation, self.hash, self.faults) = (violation, hash, faults)
    }
}

private enum WorldDirectory {
    /// A new directory, in memory where there is such a file system.
    static func make() throws -> String {
        let shared = "/dev/shm"
        let parent =
            FileManager.default.isWritableFile(atPath: shared)
            ? shared : NSTemporaryDirectory()
        let path = "\(parent)/larder-simulation-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        return path
    }
}
