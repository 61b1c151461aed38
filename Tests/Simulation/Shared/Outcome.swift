import Foundation

/// The result of a world.
package struct Outcome<Fault: WorldFault>: Sendable {
    /// The seed of the world.
    package let seed: UInt64
    /// The violated guarantee; nil for none.
    package let violation: String?
    /// The hash of the journal; 0 unless requested.
    package let hash: UInt64
    /// The counts of faults.
    package let faults: FaultCounts<Fault>

    /// Runs the world of a seed to its end.
    ///
    /// - Parameters:
    ///   - isPrinting: true to print all events.
    ///   - isHashing: true to compute ``hash``.
    ///   - prepare: called with the world before it runs.
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
    /// A new directory, on a file system in memory if there is one.
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
