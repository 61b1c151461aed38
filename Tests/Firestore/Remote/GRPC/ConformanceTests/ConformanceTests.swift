import Foundation
import LarderTestSupport
import Testing

@Suite("The published tests of the protocol")
struct ConformanceTests {
    /// A case takes milliseconds; one that waits for what never comes fails after this.
    private static let patience = Duration.seconds(120)

    @Test("make the requests and the snapshots that they expect", .timeLimit(.minutes(10)))
    func all() async throws {
        guard let cases = try ConformanceCase.all() else {
            print("SKIPPED: no conformance tests here; LARDER_SPEC_DIR says where they are")
            return
        }
        var (passed, failed, skipped) = (0, 0, 0)
        let filter = ProcessInfo.processInfo.environment["LARDER_SPEC_FILTER"]
        for test in cases where filter.map(test.name.contains) ?? true {
            if let reason = ConformanceExclusions.reasons[test.name] {
                print("SKIPPED: \(test.name): \(reason)")
                skipped += 1
                continue
            }
            do {
                try await withDeadline(Self.patience) { try await Self.run(test) }
                passed += 1
            } catch {
                failed += 1
                Issue.record("\(test.name): \(error)")
            }
        }
        print("conformance: \(passed) passed, \(failed) failed, \(skipped) skipped")
        #expect(Set(ConformanceExclusions.reasons.keys).isSubset(of: cases.map(\.name)))
    }

    @Test("a case that never ends fails with its deadline")
    func deadline() async {
        let never = Awaited(0)
        await #expect(throws: DeadlineExceeded.self) {
            try await withDeadline(.milliseconds(1)) { await never.wait { $0 > 0 } }
        }
        // The body that was left behind ends, and nothing leaks.
        never.change { $0 = 1 }
    }

    private static func run(_ test: ConformanceCase) async throws {
        switch test.kind {
        case "create", "set", "update", "updatePaths", "delete": try await test.checkWrite()
        case "query": try await test.checkQuery()
        case "get": try await test.checkGet()
        case "listen": try await test.checkListen()
        default: throw ConformanceFailure("'\(test.kind)' is not known")
        }
    }
}
