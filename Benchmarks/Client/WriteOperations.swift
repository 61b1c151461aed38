import Foundation
import Measuring
import Workload

/// Local writes, and queries over them.
struct WriteOperations {
    let run: Run
    let count: Int

    static let names = ["write", "pending"]

    private static let single = Row(
        id: "write.single", title: "local write, one at a time, on disk", unit: .microseconds,
        limits: [.atMost(1.25, times: .floor)])
    private static let concurrent = Row(
        id: "write.concurrent", title: "local write, from 64 tasks, on disk", unit: .microseconds,
        limits: [.atLeast(15, timesAsFastAs: .reference)], reference: "one at a time")
    private static let pending = Row(
        id: "pending", title: "equality query, no index, 5,000 writes pending",
        unit: .milliseconds, limits: [.atMost(1.3, times: .reference)],
        reference: "the same, none pending")

    func callAsFunction() async throws {
        if run.options.includes("write") { try await writes() }
        if run.options.includes("pending") { try await pendingWrites() }
    }

    /// In ten slices, each system writing a tenth in turn, because the disk's speed varies.
    private func writes() async throws {
        try Stores.build(run, count: count)
        let slices = run.options.isQuick ? 2 : 10
        let size = run.options.isQuick ? 50 : 200
        let systems = run.options.systems
        let floor =
            systems.contains(.floor)
            ? FloorPeer(directory: try run.copy("floor-\(count)", to: "floor-writes")) : nil
        let grdb =
            systems.contains(.grdb)
            ? try GRDBPeer(directory: try run.copy("grdb-\(count)", to: "grdb-writes")) : nil
        let larder =
            systems.contains(.larder)
            ? try LarderPeer(directory: try run.copy("larder-\(count)", to: "larder-writes")) : nil
        var next = count
        func range(_ count: Int) -> Range<Int> {
            defer { next += count }
            return next..<next + count
        }
        var slice = 0
        func bodies() throws -> [Run.Body] {
            var bodies: [Run.Body] = []
            let numbers = range(size)
            if let floor {
                bodies.append(
                    (
                        .floor,
                        {
                            floor.write(numbers); return size
                        }
                    ))
            }
            if let grdb {
                let cities = try grdb.cities(numbers)
                bodies.append(
                    (
                        .grdb,
                        {
                            try grdb.write(cities); return size
                        }
                    ))
            }
            if let larder {
                let writes = try larder.writes(numbers)
                bodies.append(
                    (
                        .larder,
                        {
                            try await LarderPeer.writeInTurn(writes); return size
                        }
                    ))
            }
            return bodies
        }
        while slice < slices {
            try await run.measure(
                Self.single, count: count, units: size, expected: size, warmsUp: false, rounds: 1,
                isPrinted: slice + 1 == slices, startingAt: slice, try bodies())
            slice += 1
        }
        if let larder {
            for _ in 0..<max(2, slices / 2) {
                let alone = try larder.writes(range(size / 2))
                let together = try larder.writes(range(run.options.isQuick ? 200 : 2_000))
                let start = Elapsed.now
                try await LarderPeer.writeInTurn(alone)
                run.report.add(
                    Self.concurrent, count: count, .reference,
                    (Elapsed.now - start) / Double(alone.count))
                let other = Elapsed.now
                try await LarderPeer.write(together, tasks: 64)
                run.report.add(
                    Self.concurrent, count: count, .larder,
                    (Elapsed.now - other) / Double(together.count))
            }
            run.report.printRow(Self.concurrent.id, count: count)
            try await larder.close()
        }
        try grdb?.close()
    }

    private func pendingWrites() async throws {
        guard run.options.systems.contains(.larder) else { return }
        try Stores.build(run, count: count)
        let plain = try LarderPeer(directory: try run.copy("larder-\(count)", to: "larder-none"))
        let pending = try LarderPeer(
            directory: try run.copy("larder-\(count)", to: "larder-pending"),
            durability: .lastCommitAtRisk)
        // The same documents again, spread over the collection: the same ones match.
        let wanted = min(5_000, count / 2)
        try await LarderPeer.writeTogether(
            try pending.writes((0..<wanted).map { $0 * (count / wanted) }))
        let repeats = max(1, 200_000 / count)
        func body(_ peer: LarderPeer) -> () async throws -> Int {
            {
                var found = 0
                for _ in 0..<repeats { found += try await peer.queryState() }
                return found
            }
        }
        try await run.measure(
            Self.pending, count: count, units: repeats,
            expected: repeats * City.matchCount(of: count),
            [(.larder, body(pending)), (.reference, body(plain))])
        try await plain.close()
        try await pending.close()
    }
}

/// Acknowledgement of pending writes.
///
/// The public API cannot do it. A program of Larder's package does, and prints its results as JSON.
struct AcknowledgementOperation {
    let run: Run

    static let name = "acknowledge"

    /// The program's result, in seconds for all writes together.
    private struct Figure: Decodable {
        let wall: Double
        let processor: Double
        let count: Int
        let commits: Int
    }

    func callAsFunction(count: Int) async throws {
        guard run.options.includes(Self.name), run.options.systems.contains(.larder) else { return }
        guard let program = run.options.acknowledgement else {
            print("\n    acknowledging: skipped, specify the program with --acknowledgement")
            return
        }
        try Stores.build(run, count: count)
        let peer = try LarderPeer(
            directory: try run.copy("larder-\(count)", to: "larder-written"),
            durability: .lastCommitAtRisk)
        let writes = run.options.isQuick ? 200 : 2_000
        try await LarderPeer.writeTogether(try peer.writes(0..<writes))
        try await peer.close()
        // Firestore's own store acknowledges 2,000 per second without a sync: ten times that.
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
