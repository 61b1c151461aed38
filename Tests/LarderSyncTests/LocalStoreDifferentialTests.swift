import Foundation
import LarderModel
import LarderStorage
import LarderSync
import LarderTestSupport
import Testing

@Suite("The local store against a model")
struct LocalStoreDifferentialTests {
    @Test("3, 4.4: after any steps every user sees what the queue makes of the cache")
    func anySteps() throws {
        let given = ProcessInfo.processInfo.environment["LARDER_TEST_STEPS"].flatMap { Int($0) }
        var run = try LocalStoreRun(SeededRandom())
        for step in 0..<(given ?? 5000) {
            if let violation = try run.step() {
                Issue.record("step \(step): \(violation); \(run.random)")
                return
            }
        }
        #expect(try run.store.check().isClean, "\(run.random)")
    }
}
