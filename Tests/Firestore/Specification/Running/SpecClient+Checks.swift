import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync

/// What a client is compared with after each step.
extension SpecClient {
    /// What differs from what a step expects.
    func check(_ expectations: SpecExpectations) -> [SpecMismatch] {
        let entries = log.take()
        var mismatches: [SpecMismatch] = []
        mismatches.compare(expectations.events, entries.events)
        mismatches.compare(
            "snapshots in sync", expectations.snapshotsInSyncCount, entries.snapshotsInSyncCount)
        mismatches.compare(
            "ends of waiting for pending writes", expectations.pendingWritesCount,
            entries.pendingWritesCount)
        mismatches.compare(
            "acknowledged writes", expectations.state?.acknowledged.sorted() ?? [],
            entries.acknowledged.sorted())
        mismatches.compare(
            "rejected writes", expectations.state?.rejected.sorted() ?? [],
            entries.rejected.sorted())
        if let state = expectations.state {
            remember(state)
            mismatches.compare(
                "is shut down", state.isShutDown ?? !isRunning, !isRunning)
        }
        if var state = inspect() {
            if isNetworkUsed(by: state), !lastingState.activeTargets.isEmpty {
                openWatchStream()
                state = inspect() ?? state
            }
            if let expected = expectations.state { check(expected, state, &mismatches) }
            if world.test.configuration.clientCount == 1 {
                mismatches.compare("is primary", true, state.isPrimary)
            }
            checkLimbo(state, &mismatches)
            checkTargets(state, &mismatches)
        }
        mismatches.compare("violations", [], remote.asked.violations)
        return mismatches
    }

    private func isNetworkUsed(by state: EngineState) -> Bool {
        state.isPrimary && isNetworkEnabled
    }

    private func remember(_ state: StateExpectation) {
        if let targets = state.activeTargets { lastingState.activeTargets = targets }
        if let paths = state.activeLimboDocuments { lastingState.activeLimbo = paths }
        if let paths = state.enqueuedLimboDocuments { lastingState.waitingLimbo = paths }
    }

    private func check(
        _ expected: StateExpectation, _ state: EngineState, _ mismatches: inout [SpecMismatch]
    ) {
        let asked = remote.asked
        if let count = expected.outstandingWriteCount {
            mismatches.compare("writes under way", count, state.pipelineCount)
        }
        if let count = expected.writeRequestCount {
            mismatches.compare("requests on write streams", count, asked.writeRequestCount)
        }
        if let count = expected.watchRequestCount {
            mismatches.compare("requests on watch streams", count, asked.watchRequestCount)
        }
        if let isPrimary = expected.isPrimary {
            mismatches.compare("is primary", isPrimary, state.isPrimary)
        }
        if let count = expected.activeClientCount {
            mismatches.compare("active clients", count, state.activeClientCount)
        }
        if let indexes = expected.indexes {
            let actual = try? client?.indexes().map(\.definition)
            mismatches.compare("indexes", indexes, actual ?? [])
        }
    }

    private func checkLimbo(_ state: EngineState, _ mismatches: inout [SpecMismatch]) {
        mismatches.compare(
            "documents in limbo", lastingState.activeLimbo.sorted(),
            state.activeLimbo.keys.sorted())
        mismatches.compare(
            "waiting documents in limbo", lastingState.waitingLimbo.sorted(),
            state.waitingLimbo.sorted())
        guard remote.isWatchStreamOpen else { return }
        for (path, id) in state.activeLimbo where lastingState.activeTargets[id] == nil {
            mismatches.append(
                SpecMismatch(
                    what: "target of '\(path)' in limbo",
                    expected: "one of \(lastingState.activeTargets.keys.sorted())",
                    actual: "\(id)"))
        }
    }

    private func checkTargets(_ state: EngineState, _ mismatches: inout [SpecMismatch]) {
        let expected = isNetworkUsed(by: state) ? lastingState.activeTargets : [:]
        let actual = remote.asked.activeTargets
        for id in Set(expected.keys).union(actual.keys).sorted() {
            if let expected = expected[id], let actual = actual[id], expected.matches(actual) {
                continue
            }
            mismatches.append(
                SpecMismatch(
                    what: "target \(id)", expected: expected[id]?.description ?? "none",
                    actual: actual[id]?.summary ?? "none"))
        }
    }
}

extension TargetExpectation: CustomStringConvertible {
    /// Whether that was last asked.
    func matches(_ actual: WatchTarget) -> Bool {
        actual.target == target && actual.resumption == resumption && actual.purpose == purpose
            && (expectedCount == nil || actual.expectedCount == expectedCount)
    }

    var description: String {
        "\(target.canonicalID), \(resumption.text), \(purpose)"
            + (expectedCount.map { ", \($0) documents" } ?? "")
    }
}
