import Foundation

/// Opening a store that is warm in the page cache, until the first 50 documents are there.
struct OpenOperation {
    let run: Run
    let count: Int

    static let name = "open"

    private static let row = Row(
        id: "open", title: "open, first 50 documents", unit: .milliseconds,
        limits: [.atMost(5, times: .floor)])

    func callAsFunction() async throws {
        guard run.options.includes(Self.name) else { return }
        try Stores.build(run, count: count)
        for round in -1..<max(3, run.options.rounds * 2) {
            try await larder(round)
            try floor(round)
            try grdb(round)
        }
        run.report.printRow(Self.row.id, count: count)
    }

    private func larder(_ round: Int) async throws {
        guard run.options.systems.contains(.larder) else { return }
        let watch = Stopwatch()
        let peer = try LarderPeer(directory: run.path("larder-\(count)"))
        let found = try await peer.first(50)
        try check(found, watch.elapsed, .larder, round)
        try await peer.close()
    }

    private func floor(_ round: Int) throws {
        guard run.options.systems.contains(.floor) else { return }
        let watch = Stopwatch()
        let peer = FloorPeer(directory: run.path("floor-\(count)"))
        let found = peer.first(50)
        try check(found, watch.elapsed, .floor, round)
    }

    private func grdb(_ round: Int) throws {
        guard run.options.systems.contains(.grdb) else { return }
        let watch = Stopwatch()
        let peer = try GRDBPeer(directory: run.path("grdb-\(count)"))
        let found = try peer.first(50)
        try check(found, watch.elapsed, .grdb, round)
        try peer.close()
    }

    private func check(_ found: Int, _ elapsed: Elapsed, _ system: System, _ round: Int) throws {
        guard found == 50 else {
            throw Run.Wrong(description: "\(system.label), open: \(found) found, 50 expected")
        }
        if round >= 0 { run.report.add(Self.row, count: count, system, elapsed) }
    }
}
