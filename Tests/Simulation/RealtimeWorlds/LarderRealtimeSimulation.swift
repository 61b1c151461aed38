import Foundation
package import SimulationSupport

/// Runs worlds of Realtime Database clients, networks and a backend, and reports the promises that
/// were broken in them.
///
/// Arguments: `--seeds COUNT` (2,000), `--first SEED` (1) to begin with another one, `--seconds
/// COUNT` to begin worlds for so long, of seeds that were never used unless the first one is named,
/// `--jobs COUNT` threads, `--seed SEED` for one world alone, and `--trace` to print all that
/// happens.
@main
struct LarderRealtimeSimulation {
    static func main() {
        exit(Simulation(RealtimeWorld.self, Options(CommandLine.arguments.dropFirst())).run())
    }
}

extension Outcome<RealtimeFault> {
    /// Lets the world of a seed live to its end.
    ///
    /// - Parameters:
    ///   - isHashing: true to compute ``hash``.
    ///   - losesPushes: true if networks lose pushes of connections that go on, which no network
    ///     does: promises are broken then.
    package init(seed: UInt64, isHashing: Bool = false, losesPushes: Bool = false) {
        self.init(of: RealtimeWorld.self, seed: seed, isHashing: isHashing) {
            $0.faults.losesPushes = losesPushes
        }
    }
}
