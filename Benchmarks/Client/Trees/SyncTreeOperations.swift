import Measuring

/// The Realtime Database's sync tree and hashes of trees.
///
/// A program of Larder's package measures them and prints its results as JSON.
struct SyncTreeOperations {
    let run: Run

    static let names = ["scores-change", "pending-writes", "tree-hash"]

    func callAsFunction() throws {
        guard run.options.systems.contains(.larder) else { return }
        let count = run.options.isQuick ? 2_000 : 100_000
        for name in Self.names where run.options.includes(name) {
            try run.measure(
                Self.rows, of: name, [String(max(run.options.rounds, 3)), String(count)],
                count: count, by: run.options.realtimeSync, option: "--realtime-sync")
        }
    }

    private static let rows: [Row] =
        ["plain", "value", "window", "both"].flatMap { listening in
            ["server", "write", "refusal", "removal"].map { change in
                row(of: listening, change)
            }
        } + [
            pending("sets", "one of N sets of one location, queued, then acknowledged"),
            pending("increments", "one of N increments of one location"),
            pending("merges", "one of N updates with two increments"),
            hash("flat", "hash of N leaves of one location after a change"),
            hash("rooms", "hash of N leaves in rooms of messages after a change"),
        ]

    private static func row(of listening: String, _ change: String) -> Row {
        let listeners = [
            "plain": "observer of N scores", "value": "observer by value",
            "window": "limitToLast(4)", "both": "limitToLast(4) below an observer",
        ]
        let changes = [
            "server": "server changes one", "write": "write, acknowledged",
            "refusal": "write, refused", "removal": "removal, refused",
        ]
        return Row(
            id: "scores-change.\(listening).\(change)",
            title: "\(listeners[listening] ?? ""): \(changes[change] ?? "")",
            unit: .microseconds, limits: [.atMost(2, times: .reference, .processor)],
            reference: "100 scores, little beside them")
    }

    private static func pending(_ kind: String, _ title: String) -> Row {
        Row(
            id: "pending-writes.\(kind)", title: title, unit: .microseconds,
            limits: [.atMost(3, times: .reference, .processor)],
            reference: "one of N/100")
    }

    private static func hash(_ kind: String, _ title: String) -> Row {
        Row(
            id: "tree-hash.\(kind)", title: title, unit: .microseconds,
            limits: [.atMost(0.001, times: .reference, .processor)],
            reference: "hashing all of it")
    }
}
