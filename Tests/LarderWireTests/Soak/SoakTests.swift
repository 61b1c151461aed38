import Foundation
import LarderTestSupport
import Testing

/// How long worlds are to go on; `make soak` sets it.
private let soakSeconds = ProcessInfo.processInfo.environment["LARDER_SOAK_SECONDS"]
    .flatMap { Double($0) }

@Suite("Clients and a server over connections that break, for long")
struct SoakTests {
    /// Worlds that come before memory is measured first: pools fill, and tables grow.
    private static let warmUpCount = 30
    /// What a process may have grown by; what leaks with every world grows beyond it in an hour.
    private static let maxGrowthBytes = 24 << 20

    @Test(
        "worlds of ever new seeds leave neither memory nor files behind",
        .enabled(if: soakSeconds != nil, "LARDER_SOAK_SECONDS does not say for how long"))
    func soak() async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(soakSeconds ?? 0)
        var seeds = SeededRandom()
        print("soak: \(seeds)")
        var (count, moments) = (0, 0)
        var first: (bytes: Int, files: Int)?
        var last: (bytes: Int, files: Int)?
        var nextReport = start
        while clock.now < end || count <= Self.warmUpCount {
            moments += try await Self.live(seeds.next())
            count += 1
            guard let bytes = Memory.residentBytes, let files = Memory.openFileCount else {
                continue
            }
            last = (bytes, files)
            if count == Self.warmUpCount { first = last }
            if clock.now >= nextReport {
                nextReport = clock.now + .seconds(30)
                print(
                    "soak: \((clock.now - start).components.seconds) s, \(count) worlds, "
                        + "\(moments) moments compared, \(bytes >> 10) KiB, \(files) files")
            }
        }
        guard let first, let last else { return }
        print(
            "soak: \(count) worlds, \(moments) moments compared; from world \(Self.warmUpCount) on "
                + "the process grew by \((last.bytes - first.bytes) >> 10) KiB and "
                + "\(last.files - first.files) files")
        #expect(last.bytes - first.bytes < Self.maxGrowthBytes)
        #expect(last.files <= first.files + 8)
    }

    /// Lets a world live.
    ///
    /// - Returns: how many moments were compared in it.
    private static func live(_ seed: UInt64) async throws -> Int {
        let world = try await WireWorld(seed: seed)
        try await world.live()
        return world.ledger.momentCount
    }
}
