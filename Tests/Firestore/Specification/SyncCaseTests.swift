import Foundation
import Testing

/// Cases in the form of the specification tests that their suites leave out or do not decide.
@Suite("Sync cases beside the specification tests")
struct SyncCaseTests {
    private func run(_ steps: String, clients: Int = 1, _ kinds: [SpecStorage]) throws {
        let script = """
            {"describeName": "Larder:", "itName": "case", "tags": ["multi-client"],
             "config": {"numClients": \(clients), "useEagerGCForMemory": false},
             "steps": [\(steps)]}
            """
        for kind in kinds {
            let outcome = try SpecRun.run(script, kind)
            guard case .passed = outcome else {
                Issue.record("\(kind): \(outcome)")
                continue
            }
        }
    }

    @Test("A document that its limbo target adds and removes leaves with the same snapshot")
    func limboTakenBack() throws {
        try run(
            #"""
            {"userListen": {"query": {"path": "c"}, "targetId": 2},
             "expectedState": {"activeTargets": {"2": {"queries": [{"path": "c"}],
              "resumeToken": ""}}}},
            {"watchAck": [2]},
            {"watchEntity": {"docs": [{"key": "c/a", "version": 1000, "value": {"n": 1}}],
             "targets": [2]}},
            {"watchCurrent": [[2], "token-1"]},
            {"watchSnapshot": {"targetIds": [], "version": 1000},
             "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
              "hasPendingWrites": false,
              "added": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]}]},
            {"watchEntity": {"key": "c/a", "removedTargets": [2]}},
            {"watchSnapshot": {"targetIds": [], "version": 1001},
             "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": true,
              "hasPendingWrites": false}],
             "expectedState": {"activeLimboDocs": ["c/a"], "activeTargets": {
              "1": {"queries": [{"path": "c/a"}], "resumeToken": "",
               "targetPurpose": "TargetPurposeLimboResolution"},
              "2": {"queries": [{"path": "c"}], "resumeToken": ""}}}},
            {"watchAck": [1]},
            {"watchEntity": {"docs": [{"key": "c/a", "version": 1002, "value": {"n": 2}}],
             "targets": [1]}},
            {"watchEntity": {"key": "c/a", "removedTargets": [1]}},
            {"watchCurrent": [[1], "token-2"]},
            {"watchSnapshot": {"targetIds": [], "version": 1003},
             "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
              "hasPendingWrites": false,
              "removed": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]}],
             "expectedState": {"activeLimboDocs": [], "activeTargets": {
              "2": {"queries": [{"path": "c"}], "resumeToken": ""}}}}
            """#, [.memory, .disk])
    }

    @Test("A document in limbo without read permission stays if another target contains it")
    func limboDenied() throws {
        try run(
            #"""
            {"userListen": {"query": {"path": "c"}, "targetId": 2},
             "expectedState": {"activeTargets": {"2": {"queries": [{"path": "c"}],
              "resumeToken": ""}}}},
            {"watchAck": [2]},
            {"watchEntity": {"docs": [{"key": "c/a", "version": 1000, "value": {"n": 1}},
             {"key": "c/b", "version": 1000, "value": {"n": 2}}], "targets": [2]}},
            {"watchCurrent": [[2], "token-1"]},
            {"watchSnapshot": {"targetIds": [], "version": 1000},
             "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
              "hasPendingWrites": false,
              "added": [{"key": "c/a", "version": 1000, "value": {"n": 1}},
               {"key": "c/b", "version": 1000, "value": {"n": 2}}]}]},
            {"userListen": {"query": {"path": "c", "limit": 1, "limitType": "LimitToFirst"},
             "targetId": 4},
             "expectedSnapshotEvents": [{"query":
              {"path": "c", "limit": 1, "limitType": "LimitToFirst"}, "fromCache": true,
              "hasPendingWrites": false,
              "added": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]}],
             "expectedState": {"activeTargets": {
              "2": {"queries": [{"path": "c"}], "resumeToken": ""},
              "4": {"queries": [{"path": "c", "limit": 1, "limitType": "LimitToFirst"}],
               "resumeToken": ""}}}},
            {"watchAck": [4]},
            {"watchEntity": {"docs": [{"key": "c/a", "version": 1000, "value": {"n": 1}}],
             "targets": [4]}},
            {"watchCurrent": [[4], "token-2"]},
            {"watchSnapshot": {"targetIds": [], "version": 1001},
             "expectedSnapshotEvents": [{"query":
              {"path": "c", "limit": 1, "limitType": "LimitToFirst"}, "fromCache": false,
              "hasPendingWrites": false}]},
            {"userDelete": "c/a",
             "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
              "hasPendingWrites": false,
              "removed": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]},
             {"query": {"path": "c", "limit": 1, "limitType": "LimitToFirst"},
              "fromCache": true, "hasPendingWrites": false,
              "removed": [{"key": "c/a", "version": 1000, "value": {"n": 1}}],
              "added": [{"key": "c/b", "version": 1000, "value": {"n": 2}}]}],
             "expectedState": {"activeLimboDocs": ["c/b"], "activeTargets": {
              "1": {"queries": [{"path": "c/b"}], "resumeToken": "",
               "targetPurpose": "TargetPurposeLimboResolution"},
              "2": {"queries": [{"path": "c"}], "resumeToken": ""},
              "4": {"queries": [{"path": "c", "limit": 1, "limitType": "LimitToFirst"}],
               "resumeToken": ""}}}},
            {"watchAck": [1]},
            {"watchRemove": {"targetIds": [1], "cause": {"code": 7}},
             "expectedState": {"activeLimboDocs": [], "activeTargets": {
              "2": {"queries": [{"path": "c"}], "resumeToken": ""},
              "4": {"queries": [{"path": "c", "limit": 1, "limitType": "LimitToFirst"}],
               "resumeToken": ""}}}}
            """#, [.memory, .disk])
    }

    @Test("An acknowledgement that could not be kept is taken again by the next process")
    func acknowledgedAfterRestart() throws {
        try run(
            #"""
            {"userSet": ["c/a", {"n": 1}]},
            {"userSet": ["c/b", {"n": 2}]},
            {"failDatabase": ["Acknowledge batch"]},
            {"writeAck": {"version": 1, "keepInQueue": true}},
            {"restart": true, "expectedState": {"activeLimboDocs": [], "activeTargets": {},
             "enqueuedLimboDocs": []}},
            {"writeAck": {"version": 1}, "expectedState": {"numOutstandingWrites": 1}},
            {"writeAck": {"version": 2}, "expectedState": {"numOutstandingWrites": 0}}
            """#, [.disk])
    }

    @Test("A primary that has lost the lease without knowing ignores later responses")
    func lateWatchUpdates() throws {
        let documents = #"""
            {"clientIndex": %d, "watchAck": [2]},
            {"clientIndex": %d, "watchEntity": {"docs":
             [{"key": "c/a", "version": 1000, "value": {"n": 1}}], "targets": [2]}},
            {"clientIndex": %d, "watchCurrent": [[2], "token-1"]},
            {"clientIndex": %d, "watchSnapshot": {"targetIds": [], "version": 1000}}
            """#
        let told = { (client: Int) in
            documents.replacingOccurrences(of: "%d", with: "\(client)")
        }
        try run(
            #"""
            {"clientIndex": 0, "drainQueue": true, "expectedState": {"isPrimary": true}},
            {"clientIndex": 1, "drainQueue": true},
            {"clientIndex": 1, "userListen": {"query": {"path": "c"}, "targetId": 2},
             "expectedState": {"activeTargets": {"2": {"queries": [{"path": "c"}],
              "resumeToken": ""}}}},
            {"clientIndex": 0, "drainQueue": true, "expectedState": {"activeTargets":
             {"2": {"queries": [{"path": "c"}], "resumeToken": ""}}}},
            {"clientIndex": 2, "drainQueue": true},
            {"clientIndex": 2, "applyClientState": {"primary": true}, "expectedState":
             {"isPrimary": true, "activeTargets":
              {"2": {"queries": [{"path": "c"}], "resumeToken": ""}}}},
            """# + told(0) + ","
                + #"""
                {"clientIndex": 1, "drainQueue": true},
                {"clientIndex": 2, "drainQueue": true},
                """# + told(2) + ","
                    + #"""
                    {"clientIndex": 1, "drainQueue": true,
                     "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
                      "hasPendingWrites": false,
                      "added": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]}]}
                    """#, clients: 3, [.memory, .disk])
    }
}
