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
    /// What may be allocated more than then.
    ///
    /// Dispatch keeps up to 1,024 pieces of work, of some 100 bytes, with each of its threads to
    /// use them again; nothing else grows, of ours or of libraries.
    private static let maxAllocatedBytes = 4 << 20
    /// What the process may occupy more than then: what leaks with every world grows beyond it in
    /// an hour.
    private static let maxResidentBytes = 24 << 20

    /// What a process has at a moment.
    private struct Usage {
        let allocatedBytes: Int
        let residentBytes: Int
        let fileCount: Int

        /// What it has now; nil where the system does not say.
        init?() {
            guard let residentBytes = Memory.residentBytes,
                let allocatedBytes = Memory.allocatedBytes, let fileCount = Memory.openFileCount
            else { return nil }
            self.allocatedBytes = allocatedBytes
            self.residentBytes = residentBytes
            self.fileCount = fileCount
        }

        var text: String {
            "\(allocatedBytes >> 10) KiB allocated, \(residentBytes >> 10) KiB resident, "
                + "\(fileCount) files"
        }
    }

    @Test(
        "worlds of ever new seeds leave neither memory nor files behind",
        .enabled(if: soakSeconds != nil, "LARDER_SOAK_SECONDS does not say for how long"))
    func soak() async throws {
        Memory.keepNoBacktraces()
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(soakSeconds ?? 0)
        var seeds = SeededRandom()
        print("soak: \(seeds)")
        var (count, moments) = (0, 0)
        var (first, last) = (Usage?.none, Usage?.none)
        var nextReport = start
        while clock.now < end || count <= Self.warmUpCount {
            moments += try await Self.live(seeds.next())
            count += 1
            guard let usage = Usage() else { continue }
            last = usage
            if count == Self.warmUpCount { first = last }
            if clock.now >= nextReport {
                nextReport = clock.now + .seconds(30)
                print(
                    "soak: \((clock.now - start).components.seconds) s, \(count) worlds, "
                        + "\(moments) moments compared, \(usage.text)")
            }
        }
        guard let first, let last else { return }
        print("soak: world \(Self.warmUpCount): \(first.text); world \(count): \(last.text)")
        #expect(last.allocatedBytes - first.allocatedBytes < Self.maxAllocatedBytes)
        #expect(last.residentBytes - first.residentBytes < Self.maxResidentBytes)
        #expect(last.fileCount <= first.fileCount + 8)
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
