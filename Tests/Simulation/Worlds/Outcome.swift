import Foundation
import LarderModel
import LarderTestSupport

/// What became of a world.
package struct Outcome: Sendable {
    /// The seed of the world.
    package let seed: UInt64
    /// The promise that was broken; nil for none.
    package let violation: String?
    /// A hash of all that has happened, where it was asked for.
    package let hash: UInt64
    /// How often what has gone wrong.
    let faults: FaultCounts

    /// Lets the world of a seed live to its end.
    ///
    /// - Parameters:
    ///   - isPrinting: whether everything that happens is printed.
    ///   - isHashing: whether ``hash`` is computed.
    ///   - losesDocuments: whether networks lose documents amid streams, which no network does:
    ///     promises are broken then.
    package init(
        seed: UInt64, isPrinting: Bool = false, isHashing: Bool = false,
        losesDocuments: Bool = false
    ) {
        self.seed = seed
        var (violation, hash, faults) = (String?.none, UInt64(0), FaultCounts())
        do {
            let directory = try Self.directory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let world = try World(
                seed: seed, directory: directory, isPrinting: isPrinting, isHashing: isHashing)
            world.faults.losesDocuments = losesDocuments
            defer { (hash, faults) = (world.journal.hash, world.journal.faults) }
            try world.live()
        } catch {
            violation = "\(error)"
        }
        (self.violation, self.hash, self.faults) = (violation, hash, faults)
    }

    /// A new directory, in memory where there is such a file system.
    private static func directory() throws -> String {
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
