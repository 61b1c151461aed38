import Foundation

/// Acknowledging pending writes.
///
/// A remote does that, so public API does not reach it. A program
/// of Larder's own package does it and prints its figures as JSON.
struct AcknowledgementOperation {
    let run: Run

    static let name = "acknowledge"

    /// What that program prints, in seconds for all together.
    private struct Figure: Decodable {
        let wall: Double
        let processor: Double
        let count: Int
        let commits: Int
    }

    func callAsFunction(count: Int) async throws {
        guard run.options.includes(Self.name), run.options.systems.contains(.larder) else { return }
        guard let program = run.options.acknowledgement else {
            print("\n    acknowledging: left out, --acknowledgement names no program")
            return
        }
        try Stores.build(run, count: count)
        let peer = try LarderPeer(
            directory: try run.copy("larder-\(count)", to: "larder-written"),
            durability: .lastCommitAtRisk)
        let writes = run.options.isQuick ? 200 : 2_000
        try await LarderPeer.writeTogether(try peer.writes(0..<writes))
        try await peer.close()
        // Firestore's own store acknowledges 2,000 a second without a sync: ten times that.
        let kinds: [(group: Int, durability: String, limits: [Row.Limit])] = [
            (1, "risk", []), (100, "risk", [.value(50)]), (100, "disk", []),
        ]
        for round in 0..<max(run.options.rounds, 3) {
            for kind in kinds {
                let figure = try await acknowledge(program, kind.group, kind.durability)
                guard figure.count == writes else {
                    throw Run.Wrong(description: "\(figure.count) of \(writes) acknowledged")
                }
                let row = Self.row(kind.group, kind.durability, kind.limits, figure)
                run.report.add(
                    row, count: count, .larder,
                    Elapsed(wall: figure.wall, processor: figure.processor) / Double(writes))
                if round + 1 == max(run.options.rounds, 3) {
                    run.report.printRow(row.id, count: count)
                }
            }
        }
    }

    private func acknowledge(
        _ program: String, _ group: Int, _ durability: String
    ) async throws -> Figure {
        try MeasuringProgram(path: program).run([
            try run.copy("larder-written", to: "larder-acknowledged"), String(group), durability,
        ])
    }

    private static func row(
        _ group: Int, _ durability: String, _ limits: [Row.Limit], _ figure: Figure
    ) -> Row {
        let together = group == 1 ? "one at a time" : "in groups of \(group)"
        let kept = durability == "disk" ? "on disk" : "last commit at risk"
        return Row(
            id: "acknowledge.\(group).\(durability)",
            title: "acknowledge \(figure.count) \(together), \(kept), \(figure.commits) commits",
            unit: .microseconds, limits: limits)
    }
}
