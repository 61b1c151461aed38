import Foundation
package import SimulationSupport

/// Lets worlds of many seeds live, and tells of the promises that were broken in them.
///
/// Arguments: `--seeds COUNT` (2,000), `--first SEED` (1) to begin with another one, `--seconds
/// COUNT` to begin worlds for so long, of seeds that were never used unless the first one is named,
/// `--jobs COUNT` threads, `--seed SEED` for one world alone, and `--trace` to print all that
/// happens.
@main
struct LarderSimulation {
    static func main() {
        exit(Simulation(World.self, Options(CommandLine.arguments.dropFirst())).run())
    }
}

extension Outcome<Fault> {
    /// Lets the world of a seed live to its end.
    ///
    /// - Parameters:
    ///   - isHashing: whether ``hash`` is computed.
    ///   - losesDocuments: whether networks lose documents amid streams, which no network does:
    ///     promises are broken then.
    package init(seed: UInt64, isHashing: Bool = false, losesDocuments: Bool = false) {
        self.init(of: World.self, seed: seed, isHashing: isHashing) {
            $0.faults.losesDocuments = losesDocuments
        }
    }
}
