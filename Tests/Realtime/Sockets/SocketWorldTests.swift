import Foundation
import LarderSharedTestSupport
import Testing

/// How long worlds are to go on; `make soak` sets it.
private let soakSeconds = ProcessInfo.processInfo.environment["LARDER_SOAK_SECONDS"]
    .flatMap { Double($0) }

@Suite("Clients of a Realtime Database and a server over connections that break")
struct SocketWorldTests {
    @Test(
        "every guarantee holds under network faults", .timeLimit(.minutes(10)), arguments: seeds)
    func promises(seed: UInt64) async throws {
        try await SocketWorld(seed: seed).live()
    }

    /// Some that are always the same, the last one found by the soak, and the one that the environment asks for; the soak has new
    /// ones.
    private static var seeds: [UInt64] {
        let fixed: [UInt64] = [1, 2, 3, 4, 5, 9_695_890_415_683_314_898]
        let given = ProcessInfo.processInfo.environment["LARDER_TEST_SEED"].flatMap { UInt64($0) }
        return fixed + (given.map { fixed.contains($0) ? [] : [$0] } ?? [])
    }
}

@Suite("Worlds of trees over sockets, for long")
struct RealtimeSoakTests {
    @Test(
        "every guarantee holds in worlds of ever new seeds",
        .enabled(if: soakSeconds != nil, "LARDER_SOAK_SECONDS does not say for how long"))
    func soak() async throws {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(soakSeconds ?? 0)
        var seeds = SeededRandom()
        print("soak of trees: \(seeds)")
        var count = 0
        while clock.now < end {
            try await SocketWorld(seed: seeds.next()).live()
            count += 1
        }
        print("soak of trees: \(count) worlds")
    }
}
