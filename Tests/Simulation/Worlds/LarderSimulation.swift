import Foundation
package import SimulationSupport

/// Runs worlds of Firestore clients, networks and a backend, and reports violated guarantees.
///
/// Arguments: `--seeds COUNT` worlds (2,000) from `--first SEED` (1); or `--seconds COUNT` to start
/// worlds for that time, with new seeds unless `--first` is given; `--jobs COUNT` threads; `--seed
/// SEED` for one world, with `--trace` to print its events.
@main
struct LarderSimulation {
    static func main() {
        exit(Simulation(World.self, Options(CommandLine.arguments.dropFirst())).run())
    }
}

extension Outcome<Fault> {
    /// Runs the world of a seed to its end.
    ///
    /// - Parameters:
    ///   - isHashing: true to compute ``hash``.
    ///   - losesDocuments: true if networks lose documents on intact streams, which violates their
    ///     contract: worlds must detect it.
    package init(seed: UInt64, isHashing: Bool = false, losesDocuments: Bool = false) {
        self.init(of: World.self, seed: seed, isHashing: isHashing) {
            $0.faults.losesDocuments = losesDocuments
        }
    }
}
