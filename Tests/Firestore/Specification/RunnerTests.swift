import Foundation
import Testing

@Suite("The runner of the specification tests")
struct RunnerTests {
    /// A listener, a write and its acknowledgement, with every expectation that one client has.
    private static let script = #"""
        {"describeName": "Runner:", "itName": "sees everything", "tags": [],
         "config": {"numClients": 1, "useEagerGCForMemory": false},
         "steps": [
          {"addSnapshotsInSyncListener": true, "expectedSnapshotsInSyncEvents": 1},
          {"userListen": {"query": {"path": "c", "filters": [], "orderBys": []}, "targetId": 2},
           "expectedState": {"activeTargets": {"2": {"queries": [{"path": "c"}], "resumeToken": ""}},
            "watchStreamRequestCount": 1}},
          {"watchAck": [2]},
          {"watchEntity": {"docs": [{"key": "c/a", "version": 1000, "value": {"n": 1}}],
           "targets": [2]}},
          {"watchCurrent": [[2], "token-1"]},
          {"watchSnapshot": {"targetIds": [], "version": 1000},
           "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
            "hasPendingWrites": false,
            "added": [{"key": "c/a", "version": 1000, "value": {"n": 1}}]}],
           "expectedSnapshotsInSyncEvents": 1},
          {"userSet": ["c/a", {"n": 2}],
           "expectedSnapshotEvents": [{"query": {"path": "c"}, "fromCache": false,
            "hasPendingWrites": true,
            "modified": [{"key": "c/a", "version": 0, "value": {"n": 2},
             "options": {"hasLocalMutations": true}}]}],
           "expectedState": {"numOutstandingWrites": 1, "writeStreamRequestCount": 2},
           "expectedSnapshotsInSyncEvents": 1},
          {"waitForPendingWrites": true},
          {"writeAck": {"version": 2000},
           "expectedState": {"userCallbacks": {"acknowledgedDocs": ["c/a"], "rejectedDocs": []}},
           "expectedWaitForPendingWritesEvents": 1},
          {"watchRemove": {"targetIds": [2], "cause": {"code": 7}},
           "expectedSnapshotEvents": [{"query": {"path": "c"}, "errorCode": 7}],
           "expectedState": {"activeTargets": {}, "activeLimboDocs": [], "isPrimary": true}}
         ]}
        """#

    @Test("A client that does as it should passes, on every kind of store")
    func passes() throws {
        for kind in SpecStorage.allCases {
            let outcome = try SpecRun.run(Self.script, kind)
            guard case .passed = outcome else {
                Issue.record("\(kind): \(outcome)")
                continue
            }
        }
    }

    @Test(
        "Whatever is not as expected fails its step",
        arguments: [
            // What the script says, what it says instead, and the step that fails for it.
            (#"true, "expectedSnapshotsInSyncEvents": 1"#, "true", 1),
            (#""resumeToken": """#, #""resumeToken": "other""#, 2),
            (#"{"2": {"queries""#, #"{"4": {"queries""#, 2),
            (#"[{"path": "c"}], "resume"#, #"[{"path": "d"}], "resume"#, 2),
            (#""resumeToken": """#, #""resumeToken": "", "expectedCount": 3"#, 2),
            (
                #""resumeToken": """#,
                #""resumeToken": "", "targetPurpose": "TargetPurposeLimboResolution""#, 2
            ),
            (#""watchStreamRequestCount": 1"#, #""watchStreamRequestCount": 2"#, 2),
            (#""fromCache": false"#, #""fromCache": true"#, 6),
            (#""added""#, #""modified""#, 6),
            (#"[{"key": "c/a", "version": 1000, "value": {"n": 1}}]}]"#, "[]}]", 6),
            (
                #"{"key": "c/a", "version": 1000, "value": {"n": 1}}]}"#,
                #"{"key": "c/a", "version": 1001, "value": {"n": 1}}]}"#, 6
            ),
            (
                #"{"key": "c/a", "version": 1000, "value": {"n": 1}}]}"#,
                #"{"key": "c/a", "version": 1000, "value": {"n": true}}]}"#, 6
            ),
            (#""hasPendingWrites": true"#, #""hasPendingWrites": false"#, 7),
            (#""hasLocalMutations""#, #""hasCommittedMutations""#, 7),
            (#""numOutstandingWrites": 1"#, #""numOutstandingWrites": 0"#, 7),
            (#""writeStreamRequestCount": 2"#, #""writeStreamRequestCount": 3"#, 7),
            (#""acknowledgedDocs": ["c/a"]"#, #""acknowledgedDocs": []"#, 9),
            (#""rejectedDocs": []"#, #""rejectedDocs": ["c/a"]"#, 9),
            (
                #""expectedWaitForPendingWritesEvents": 1"#,
                #""expectedWaitForPendingWritesEvents": 0"#, 9
            ),
            (#""errorCode": 7"#, #""errorCode": 8"#, 10),
            (#""activeTargets": {}, "active"#, #""active"#, 10),
            (#""activeLimboDocs": []"#, #""activeLimboDocs": ["c/a"]"#, 10),
            (#""activeLimboDocs": []"#, #""enqueuedLimboDocs": ["c/a"]"#, 10),
            (#""isPrimary": true"#, #""isPrimary": false"#, 10),
            (#""isPrimary": true"#, #""numActiveClients": 2"#, 10),
            (#""isPrimary": true"#, #""isShutdown": true"#, 10),
            (#""targetIds": [2], "cause""#, #""targetIds": [4], "cause""#, 10),
        ])
    func notices(said: String, instead: String, step: Int) throws {
        let parts = Self.script.components(separatedBy: said)
        try #require(parts.count >= 2, "the script does not say it")
        let script = parts[0] + instead + parts[1...].joined(separator: said)
        guard case .failed(step, _, let mismatches) = try SpecRun.run(script, .memory) else {
            Issue.record("step \(step) does not fail")
            return
        }
        #expect(!mismatches.isEmpty)
    }

    @Test("A report counts, and ends with the sum")
    func reports() throws {
        let test = try SpecTest(
            SpecNode(JSONValue(parsing: Data(Self.script.utf8)), at: "runner"))
        let mismatch = SpecMismatch(what: "events", expected: "one", actual: "none")
        var report = SpecReport()
        report.note(.passed, of: test, in: "listen", on: "disk")
        report.note(.skipped("needs a moon"), of: test, in: "listen", on: "disk")
        report.note(
            .failed(step: 3, test.steps[2], [mismatch]), of: test, in: "write", on: "memory")
        let lines = report.text.split(separator: "\n")
        #expect(lines.first == "listen, disk: 1 passed, 0 failed, 1 skipped (1 needs a moon)")
        #expect(lines.last == "1 passed, 1 failed, 1 skipped")
        #expect(report.failures.count == 1)
        #expect(report.text.contains("step 3") && report.text.contains("expected one"))
    }
}
