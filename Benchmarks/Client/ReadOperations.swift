import Foundation
import Measuring
import Workload

/// Reads and queries of a warm store.
struct ReadOperations {
    let run: Run
    let count: Int

    static let names = ["point-read", "equality", "top"]

    private static let pointOneField = Row(
        id: "point-read.one-field", title: "point read, one field read", unit: .microseconds,
        limits: [.atMost(2, times: .floor)])
    private static let pointData = Row(
        id: "point-read.data", title: "point read, whole data()", unit: .microseconds,
        limits: [.atMost(5, times: .floor)])
    private static let equalityScan = Row(
        id: "equality.scan", title: "equality query, 2 % match, no index", unit: .milliseconds,
        limits: [.atMost(2, times: .floor), .atLeast(2, timesAsFastAs: .grdb)])
    private static let equalityIndex = Row(
        id: "equality.index", title: "equality query, 2 % match, index", unit: .microseconds,
        limits: [.atMost(3, times: .floor)])
    private static let topIndex = Row(
        id: "top.index", title: "order by, descending, limit 50, index", unit: .milliseconds,
        limits: [.value(0.2, .processor)], isIndependentOfCount: true)
    private static let topScan = Row(
        id: "top.scan", title: "order by, descending, limit 50, no index", unit: .milliseconds,
        limits: [.atMost(2, times: .reference)], reference: "equality query, no index")
    private static let topMemory = Row(
        id: "top.memory", title: "the same, additional memory", unit: .bytes,
        limits: [.value(Double(4 << 20))])

    func callAsFunction() async throws {
        guard Self.names.contains(where: run.options.includes) else { return }
        let stores = try Stores(run, count: count)
        try await pointReads(stores)
        if run.options.includes("equality") || run.options.includes("top") {
            try await equality(stores, Self.equalityScan, repeats: max(1, 200_000 / count))
            if run.options.includes("top") { try await topWithoutIndex(stores) }
            try await stores.larder?.defineIndexes(LarderPeer.indexes)
            try stores.grdb?.defineIndexes()
            if run.options.includes("equality") {
                try await equality(stores, Self.equalityIndex, repeats: max(1, 1_000_000 / count))
            }
            if run.options.includes("top") { try await topWithIndex(stores) }
        }
        try await stores.close()
    }

    private func pointReads(_ stores: Stores) async throws {
        guard run.options.includes("point-read") else { return }
        let numbers = City.randomNumbers(below: count, run.options.isQuick ? 2_000 : 20_000)
        // Slower systems read fewer documents per round: results are per read.
        let paths = numbers.prefix(2_000).map { City.path(Int($0)) }
        let references = stores.larder?.references(numbers) ?? []
        for (row, larder, grdb) in [
            (
                Self.pointOneField, { try await $0.readPopulation(references) },
                { try $0.readPopulation(paths) }
            ),
            (Self.pointData, { try await $0.readData(references) }, { try $0.read(paths) }),
        ] as [(Row, (LarderPeer) async throws -> Int, (GRDBPeer) throws -> Int)] {
            let times = numbers.count / paths.count
            try await run.measure(
                row, count: count, units: numbers.count, expected: numbers.count,
                stores.bodies(
                    larder: larder, floor: { $0.read(numbers) },
                    grdb: { peer in try (0..<times).reduce(0) { sum, _ in try sum + grdb(peer) } }))
        }
    }

    private func equality(_ stores: Stores, _ row: Row, repeats: Int) async throws {
        let isIndexed = row.id == Self.equalityIndex.id
        let matches = City.matchCount(of: count)
        try await run.measure(
            row, count: count, units: repeats * (isIndexed ? matches : 1),
            expected: repeats * matches,
            stores.bodies(
                larder: { try await Self.repeated(repeats, $0.queryState) },
                floor: { peer in
                    (0..<repeats).reduce(0) { sum, _ in
                        sum + (isIndexed ? peer.indexState() : peer.scanState())
                    }
                },
                grdb: { peer in
                    try (0..<repeats).reduce(0) { sum, _ in try sum + peer.queryState() }
                }
            ))
    }

    private func topWithIndex(_ stores: Stores) async throws {
        let repeats = run.options.isQuick ? 20 : 200
        try await run.measure(
            Self.topIndex, count: count, units: repeats, expected: repeats * 50,
            stores.bodies(
                larder: { peer in
                    try await Self.repeated(repeats) { try await peer.mostPopulous(50) }
                },
                floor: { peer in
                    (0..<repeats).reduce(0) { sum, _ in sum + peer.indexMostPopulous(50) }
                },
                grdb: { peer in
                    try (0..<repeats).reduce(0) { sum, _ in try sum + peer.mostPopulous(50) }
                }))
    }

    private func topWithoutIndex(_ stores: Stores) async throws {
        let repeats = max(1, 200_000 / count)
        let matches = City.matchCount(of: count)
        var bodies = stores.bodies(
            larder: { peer in try await Self.repeated(repeats) { try await peer.mostPopulous(50) }
            },
            floor: { peer in
                (0..<repeats).reduce(0) { sum, _ in sum + peer.scanMostPopulous(50) }
            },
            grdb: { peer in
                try (0..<repeats).reduce(0) { sum, _ in try sum + peer.mostPopulous(50) }
            })
        if let larder = stores.larder {
            bodies.append(
                (
                    .reference,
                    {
                        let found = try await Self.repeated(repeats, larder.queryState)
                        return found == repeats * matches ? repeats * 50 : 0
                    }
                ))
        }
        try await run.measure(
            Self.topScan, count: count, units: repeats, expected: repeats * 50, bodies)
        guard let larder = stores.larder else { return }
        let bytes = try await ProcessMemory.growth { _ = try await larder.mostPopulous(50) }
        run.report.add(
            Self.topMemory, count: count, .larder,
            Elapsed(wall: Double(bytes), processor: Double(bytes)))
        run.report.printRow(Self.topMemory.id, count: count)
    }

    private static func repeated(
        _ times: Int, _ body: () async throws -> Int
    ) async rethrows -> Int {
        var found = 0
        for _ in 0..<times { found += try await body() }
        return found
    }
}

/// Opening a store that is warm in the page cache, up to the first 50 documents.
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
        let start = Elapsed.now
        let peer = try LarderPeer(directory: run.path("larder-\(count)"))
        let found = try await peer.first(50)
        try check(found, Elapsed.now - start, .larder, round)
        try await peer.close()
    }

    private func floor(_ round: Int) throws {
        guard run.options.systems.contains(.floor) else { return }
        let start = Elapsed.now
        let peer = FloorPeer(directory: run.path("floor-\(count)"))
        let found = peer.first(50)
        try check(found, Elapsed.now - start, .floor, round)
    }

    private func grdb(_ round: Int) throws {
        guard run.options.systems.contains(.grdb) else { return }
        let start = Elapsed.now
        let peer = try GRDBPeer(directory: run.path("grdb-\(count)"))
        let found = try peer.first(50)
        try check(found, Elapsed.now - start, .grdb, round)
        try peer.close()
    }

    private func check(_ found: Int, _ elapsed: Elapsed, _ system: System, _ round: Int) throws {
        guard found == 50 else {
            throw Run.Wrong(description: "\(system.label), open: \(found) found, 50 expected")
        }
        if round >= 0 { run.report.add(Self.row, count: count, system, elapsed) }
    }
}
