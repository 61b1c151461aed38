import Foundation
import Measuring

/// The engine between a store and a backend.
///
/// The public API cannot use a scripted backend. A program of Larder's package does, and prints its
/// results as JSON.
struct SyncOperations {
    let run: Run

    static let names = ["apply", "first", "fanout", "drain", "idle"]

    private var isQuick: Bool { run.options.isQuick }
    private var rounds: Int { max(run.options.rounds, 3) }

    /// Operations that depend on the number of documents.
    func callAsFunction(count: Int) throws {
        try measure("apply", count: count, on: count)
        // A listener of more documents is unrealistic.
        if count <= 10_000 { try measure("first", count: count, on: count) }
    }

    /// Operations that do not.
    func callAsFunction() throws {
        try measure("fanout", count: isQuick ? 500 : 10_000)
        try measure("drain", count: isQuick ? 500 : 10_000)
        try measure("idle", count: 1)
    }

    private func measure(_ operation: String, count: Int, on cities: Int? = nil) throws {
        guard run.options.includes(operation), run.options.systems.contains(.larder) else { return }
        let directory: String
        if let cities {
            try Stores.build(run, count: cities)
            directory = try run.copy("larder-\(cities)", to: "larder-synced")
        } else {
            directory = run.path("sync-\(operation)")
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
        }
        try run.measure(
            Self.rows, of: operation, [directory, String(rounds), String(count)], count: count,
            by: run.options.sync, option: "--sync")
    }

    private static let rows = [
        Row(
            id: "apply.changed", title: "snapshot of 500 changed documents, 3 listeners, each",
            unit: .microseconds, limits: [.atMost(2, times: .reference)],
            reference: "as many documents stored"),
        Row(
            id: "apply.new", title: "snapshot of 500 new documents, 3 listeners, each",
            unit: .microseconds, limits: [.atMost(2, times: .reference)],
            reference: "as many documents stored"),
        Row(
            id: "first", title: "first snapshot of a listener on all documents",
            unit: .milliseconds, limits: [.atMost(2, times: .reference)],
            reference: "the query alone"),
        Row(
            id: "fanout", title: "10,000 listeners, a snapshot for 1,000 of them, each",
            unit: .microseconds, limits: [.atMost(1.5, times: .reference, .processor)],
            reference: "100 listeners, a snapshot for all"),
        Row(
            id: "fanout.examined", title: "the same: views examined, for each of those",
            unit: .times, limits: [.value(1)]),
        Row(
            id: "drain", title: "queued writes to an in-process backend, each",
            unit: .microseconds, limits: [.value(50)]),
        Row(
            id: "drain.memory", title: "the same: memory growth", unit: .bytes,
            limits: [.value(8 * 1024 * 1024)]),
        ofOneDocument("increments", "increments"), ofOneDocument("merges", "merged sets"),
        ofOneDocument("unions", "array unions"), ofOneDocument("timestamps", "server timestamps"),
        Row(
            id: "idle.machine", title: "allocations of a keepalive, network side",
            unit: .times, limits: [.value(0)]),
        Row(
            id: "idle.engine", title: "allocations of a keepalive, whole engine",
            unit: .times, limits: [.value(0)]),
    ]

    /// Queued writes that are all of one document: their number must not matter.
    private static func ofOneDocument(_ kind: String, _ title: String) -> Row {
        Row(
            id: "drain.\(kind)", title: "queued \(title) of one document, each",
            unit: .microseconds, limits: [.atMost(1.5, times: .reference)],
            reference: "a tenth as many")
    }
}
