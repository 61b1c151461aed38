import Foundation
package import SimulationSupport

/// Runs worlds of Realtime Database clients, networks and a backend, and reports violated
/// guarantees.
///
/// Arguments: `--seeds COUNT` worlds (2,000) from `--first SEED` (1); or `--seconds COUNT` to start
/// worlds for that time, with new seeds unless `--first` is given; `--jobs COUNT` threads; `--seed
/// SEED` for one world, with `--trace` to print its events.
@main
struct LarderRealtimeSimulation {
    static func main() {
        exit(Simulation(RealtimeWorld.self, Options(CommandLine.arguments.dropFirst())).run())
    }
}

extension Outcome<RealtimeFault> {
    /// Runs the world of a seed to its end.
    ///
    /// - Parameters:
    ///   - isHashing: true to compute ``hash``.
    ///   - losesPushes: true if networks lose pushes on intact connections, which violates their
    ///     contract: worlds must detect it.
    package init(seed: UInt64, isHashing: Bool = false, losesPushes: Bool = false) {
        self.init(of: RealtimeWorld.self, seed: seed, isHashing: isHashing) {
            $0.faults.losesPushes = losesPushes
        }
    }
}
