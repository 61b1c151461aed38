import LarderRealtimeModel
import LarderRealtimeRules
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

/// A backend is restarted by opening another one with its storage.
@Suite("Stored security rules")
struct StoredRulesTests {
    private let storage = MemoryStorage()
    private static let file = #"{"rules": {".read": true}}"#
    private static let other = #"{"rules": {".read": false}}"#
    private static let replaced = #"{"rules": {"a": {".read": true}}} // at run time"#

    private func opened(_ configured: String?) throws -> TestBackend {
        let rules = try configured.map { try SecurityRules($0) }
        let backend = try TestBackend(storage: storage) { $0.securityRules = rules }
        backend.scheduler.drain()
        return backend
    }

    private func text(_ backend: TestBackend) -> String? {
        backend.backend.securityRules(of: "default")?.text
    }

    private func replace(_ backend: TestBackend) throws -> Result<Void, LarderError>? {
        let rules = try SecurityRules(Self.replaced)
        let result = Box<Result<Void, LarderError>?>(nil)
        backend.perform {
            $0.storeSecurityRules(rules, of: "default") { outcome in
                result.withLock { $0 = outcome }
            }
        }
        return result.withLock { $0 }
    }

    @Test("they hold after a restart with the same configured rules", arguments: [nil, file])
    func restart(configured: String?) throws {
        let backend = try opened(configured)
        #expect(text(backend) == configured)
        try replace(backend)?.get()
        #expect(text(backend) == Self.replaced && storage.records["rules/current"]?.count == 1)
        for _ in 0..<2 { #expect(text(try opened(configured)) == Self.replaced) }
    }

    @Test("configured rules that have changed hold instead, for good")
    func changed() throws {
        try replace(try opened(Self.file))?.get()
        #expect(text(try opened(Self.other)) == Self.other)
        #expect(storage.records.isEmpty)
        #expect(text(try opened(Self.file)) == Self.file)
    }

    @Test("rules that cannot be stored do not hold")
    func failure() throws {
        let backend = try opened(Self.file)
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        #expect(throws: LarderError.self) { try replace(backend)?.get() }
        #expect(text(backend) == Self.file)
        storage.state.withLock { $0.error = nil }
        try replace(backend)?.get()
        #expect(text(backend) == Self.replaced)
    }

    @Test("a record that is damaged is an error, not open access")
    func damaged() throws {
        for record in ["", "{}", #"{"rules":1}"#, #"{"rules":"{"}"#] {
            var commit = TreeCommit()
            commit.replaceRecords(
                of: RecordOwner(.rules, "current"), with: [Array(record.utf8)])
            storage.state.withLock { [commit] in
                $0.trees["default", default: StoredTree()].apply(commit)
            }
            #expect(throws: LarderError.self) { try opened(nil) }
        }
    }
}
