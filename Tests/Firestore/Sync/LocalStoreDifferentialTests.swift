import Foundation
import LarderDocumentStore
import LarderModel
import LarderSync
import LarderTestSupport
import Testing

@Suite("The local store against a model")
struct LocalStoreDifferentialTests {
    private static let steps =
        ProcessInfo.processInfo.environment["LARDER_TEST_STEPS"].flatMap { Int($0) } ?? 5000

    @Test("3, 4.4: after any steps every user sees what the queue makes of the cache")
    func inMemory() throws {
        var run = try LocalStoreRun(SeededRandom(), directory: nil)
        try compare(&run, steps: Self.steps)
    }

    @Test("3, 4.4: the same on disk, where the store is closed and opened now and then")
    func onDisk() throws {
        let directory = try TemporaryDirectory()
        var run = try LocalStoreRun(SeededRandom(), directory: directory.file("s"))
        try compare(&run, steps: Self.steps / 10)
    }

    private func compare(_ run: inout LocalStoreRun, steps: Int) throws {
        for step in 0..<steps {
            if let violation = try run.step() {
                Issue.record("step \(step): \(violation); \(run.random)")
                return
            }
        }
        #expect(try run.store.check().isClean, "\(run.random)")
    }
}
