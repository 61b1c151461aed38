import Foundation
import LarderTestSupport

/// What became of a test.
enum SpecOutcome: Sendable {
    case passed
    case skipped(String)
    case failed(step: Int, SpecStep, [SpecMismatch])
}

/// Runs tests.
enum SpecRun {
    /// Runs a test that is written as JSON on one kind of store.
    static func run(_ script: String, _ kind: SpecStorage) throws -> SpecOutcome {
        let json = try JSONValue(parsing: Data(script.utf8))
        return run(try SpecTest(SpecNode(json, at: "script")), kind, SpecTrace(isEnabled: false))
    }

    /// Runs one test on one kind of store.
    static func run(_ test: SpecTest, _ kind: SpecStorage, _ trace: SpecTrace) -> SpecOutcome {
        if let reason = test.reasonToSkip(on: kind) { return .skipped(reason) }
        var clients: [Int: SpecClient] = [:]
        defer { for client in clients.values { try? client.stop() } }
        do {
            let world = try SpecWorld(test, kind, trace)
            for (number, step) in test.steps.enumerated() {
                trace("step \(number + 1): \(step.json)")
                let mismatches: [SpecMismatch]
                do {
                    let client = try clients[step.client] ?? SpecClient(step.client, in: world)
                    clients[step.client] = client
                    try client.perform(step.action)
                    mismatches = client.check(step.expectations)
                } catch {
                    mismatches = [
                        SpecMismatch(what: "action", expected: "success", actual: "\(error)")
                    ]
                }
                if !mismatches.isEmpty { return .failed(step: number + 1, step, mismatches) }
                drain(clients)
            }
            return .passed
        } catch {
            return .skipped("no store: \(error)")
        }
    }
}

extension SpecRun {
    /// Between steps every client does what it has heard.
    fileprivate static func drain(_ clients: [Int: SpecClient]) {
        let schedulers = clients.sorted { $0.key < $1.key }.map(\.value.scheduler)
        while schedulers.reduce(false, { $1.drain() || $0 }) {}
    }
}

extension SpecTest {
    /// Why the test says nothing about a kind of store; nil when it does.
    func reasonToSkip(on kind: SpecStorage) -> String? {
        if tags.contains(.benchmark) { return "benchmark" }
        switch kind {
        case .memory:
            if tags.contains(.durablePersistence) { return "needs a store that survives" }
        case .disk:
            if tags.contains(.eagerCollection) { return "needs eager collection" }
        }
        return nil
    }
}
