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

    @Test("After any steps every user sees the cache with the queue's writes applied")
    func inMemory() throws {
        var run = try LocalStoreRun(SeededRandom(), directory: nil)
        try compare(&run, steps: Self.steps)
    }

    @Test("The same on disk, where the store is closed and reopened at random")
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
