import Foundation
import Testing

@Suite("Firestore's specification tests")
struct SpecTests {
    /// Runs what `LARDER_SPEC_DIR` has, or those tests whose name contains `LARDER_SPEC_FILTER`,
    /// with a trace of what happens.
    @Test("Every test, on every kind of store")
    func passes() throws {
        guard let directory = SpecSuite.directory else {
            print("SKIPPED: no specification tests here; LARDER_SPEC_DIR says where they are")
            return
        }
        let filter = ProcessInfo.processInfo.environment["LARDER_SPEC_FILTER"]
        let suites = try SpecSuite.files(in: directory).map { try SpecSuite(file: $0) }
        let onlyExclusive = suites.contains { $0.tests.contains { $0.tags.contains(.exclusive) } }
        var report = SpecReport()
        for suite in suites {
            for kind in SpecStorage.allCases {
                for test in suite.tests {
                    if let filter, !test.name.contains(filter) { continue }
                    if onlyExclusive, !test.tags.contains(.exclusive) { continue }
                    let trace = SpecTrace(isEnabled: filter != nil)
                    trace("\(test.name), \(kind)")
                    let outcome = SpecRun.run(test, kind, trace)
                    report.note(outcome, of: test, in: suite.name, on: kind.title(for: test))
                }
            }
        }
        print(report.text)
        for failure in report.failures { Issue.record("\(failure)") }
    }
}
