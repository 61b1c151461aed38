import Foundation
import LarderTestSupport
import Testing

@Suite("The API against a plain model")
struct DifferentialTests {
    /// Operations in all; `LARDER_TEST_STEPS` asks for more.
    private static let operations =
        ProcessInfo.processInfo.environment["LARDER_TEST_STEPS"].flatMap { Int($0) } ?? 20_000

    /// Operations on one database, after which another one begins.
    private static let operationsEach = 400

    /// Databases at a time; those on disk wait for it most of the time.
    private static let lanes = 4

    @Test("Random writes, reads, queries, listeners and indexes do what the rules say")
    func differential() async throws {
        let base = SeededRandom()
        let seed = base.seed
        let count = (Self.operations + Self.operationsEach - 1) / Self.operationsEach
        var coverage = DifferentialRun.Coverage()
        try await withThrowingTaskGroup(of: DifferentialRun.Coverage.self) { group in
            for number in 0..<count {
                if number >= Self.lanes, let done = try await group.next() { coverage.add(done) }
                group.addTask { try await Self.run(number, seed) }
            }
            for try await done in group { coverage.add(done) }
        }
        print("\(coverage); \(base)")
        #expect(coverage.operations >= Self.operations)
        #expect(coverage.found > coverage.queries, "queries find something; \(base)")
        for kind in [
            "index scan", "union", "name range", "collection scan", "group scan",
            "document look-up",
        ] {
            #expect(coverage.plans[kind] ?? 0 > 0, "\(kind) in \(coverage.plans); \(base)")
        }
    }

    /// One database from its beginning to its end.
    private static func run(
        _ number: Int, _ seed: UInt64
    ) async throws -> DifferentialRun.Coverage {
        do {
            let run = try await DifferentialRun(
                SeededRandom(seed: seed &+ UInt64(number) &* 7919), onDisk: number % 2 == 0)
            try await run.run(operationsEach)
            try await run.end()
            return run.coverage
        } catch let violation as DifferentialRun.Violation {
            Issue.record("\(violation)\nin database \(number), \(SeededRandom(seed: seed))")
            throw violation
        }
    }
}
