import LarderRealtimeModel
import Testing

@Suite("The sync-point specification")
struct SyncPointSpecTests {
    @Test("every test, at the root and below foo/bar/baz")
    func passes() throws {
        guard let tests = try SyncPointCase.all() else {
            print("SKIPPED: no sync-point specification here; LARDER_SPEC_DIR says where it is")
            return
        }
        var passed = 0
        for test in tests {
            for base in [TreePath.root, TreePath("foo/bar/baz")] {
                let failures = SyncPointRun.failures(of: test, base: base)
                if failures.isEmpty { passed += 1 }
                for failure in failures { Issue.record("\(failure)") }
            }
        }
        print("sync-point specification: \(passed) of \(2 * tests.count) runs passed")
        #expect(!tests.isEmpty)
    }
}
