import Foundation
import Measuring

/// The Realtime Database: rooms of messages, scores, and an outbox.
///
/// The number of documents is that of messages and of scores.
struct TreeOperations {
    let run: Run
    let count: Int

    static let names = ["room-read", "room-open", "scores-top", "outbox"]

    private static let roomRead = Row(
        id: "room-read", title: "a room of 500 leaves from disk into a snapshot",
        unit: .microseconds, limits: [.atLeast(10, timesAsFastAs: .grdb)])
    private static let roomOpen = Row(
        id: "room-open", title: "open, observe a cached room, first value", unit: .milliseconds,
        limits: [.atMost(5, times: .floor)], isIndependentOfCount: true)
    private static let scoresTop = Row(
        id: "scores-top", title: "the last 4 scores by value, offline", unit: .milliseconds,
        limits: [.atMost(1.5, times: .floor)])
    private static let scoresMemory = Row(
        id: "scores-top.memory", title: "the same, additional memory", unit: .bytes,
        limits: [.value(Double(1 << 20))])
    private static let outbox = Row(
        id: "outbox", title: "open with N messages pending, all queued and shown, each",
        unit: .microseconds, limits: [.atMost(3, times: .floor)], isIndependentOfCount: true)

    private var roomCount: Int { count / TreeWorkload.roomMessages }

    func callAsFunction() async throws {
        if run.options.includes("room-read") { try await roomReads() }
        if run.options.includes("room-open") { try await roomOpening() }
        if run.options.includes("scores-top") { try await scoresTop() }
        if run.options.includes("outbox") { try await pendingMessages() }
    }

    // MARK: Reading

    private func roomReads() async throws {
        let stores = try await TreeStores(run, count: count)
        let rooms = TreeWorkload.randomRooms(
            below: roomCount, run.options.isQuick ? 50 : 1_000)
        try await run.measure(
            Self.roomRead, count: count, units: rooms.count,
            expected: rooms.count * TreeWorkload.roomMessages,
            stores.bodies(
                larder: { try await $0.readRooms(rooms) },
                floor: { peer in
                    rooms.reduce(0) { $0 + peer.readRoom($1) } / TreeWorkload.messageLeaves
                },
                grdb: { peer in try rooms.reduce(0) { try $0 + peer.readRoom($1) } }))
        try await stores.close()
    }

    private func scoresTop() async throws {
        let stores = try await TreeStores(run, count: count)
        let expected = TreeWorkload.highestScores(of: count)
        let repeats = max(1, 1_000_000 / count)
        try await run.measure(
            Self.scoresTop, count: count, units: repeats, expected: repeats * expected,
            stores.bodies(
                larder: { peer in
                    var sum = 0
                    for _ in 0..<repeats { sum += try await peer.highestScores() }
                    return sum
                },
                floor: { peer in (0..<repeats).reduce(0) { sum, _ in sum + peer.highestScores() } },
                grdb: { peer in
                    try (0..<repeats).reduce(0) { sum, _ in try sum + peer.highestScores() }
                }))
        if let larder = stores.larder {
            let bytes = try await ProcessMemory.growth {
                for _ in 0..<repeats { _ = try await larder.highestScores() }
            }
            run.report.add(
                Self.scoresMemory, count: count, .larder,
                Elapsed(wall: Double(bytes), processor: Double(bytes)))
            run.report.printRow(Self.scoresMemory.id, count: count)
        }
        try await stores.close()
    }

    // MARK: Opening

    /// A store that is warm in the page cache, as a program starts that shows one room.
    private func roomOpening() async throws {
        try await TreeStores.build(run, count: count)
        let rooms = TreeWorkload.randomRooms(below: roomCount, max(5, run.options.rounds * 4))
        for (round, room) in rooms.enumerated() {
            try await opening(.larder, Self.roomOpen, round, TreeWorkload.roomMessages) { path in
                let peer = try TreePeer(directory: path)
                return (await peer.observeFirst(TreeWorkload.room(room)), peer.close)
            }
            try await opening(.floor, Self.roomOpen, round, TreeWorkload.roomMessages) { path in
                let peer = TreeFloorPeer(directory: path)
                return (peer.readRoom(room) / TreeWorkload.messageLeaves, {})
            }
            try await opening(.grdb, Self.roomOpen, round, TreeWorkload.roomMessages) { path in
                let peer = try TreeGRDBPeer(directory: path)
                return (try peer.readRoom(room), { try peer.close() })
            }
        }
        run.report.printRow(Self.roomOpen.id, count: count)
    }

    /// Measures opening a store up to a result; closing it is not part of it.
    private func opening(
        _ system: System, _ row: Row, _ round: Int, _ expected: Int, units: Int = 1,
        in directory: String? = nil,
        _ open: (String) async throws -> (found: Int, close: () async throws -> Void)
    ) async throws {
        guard run.options.systems.contains(system) else { return }
        let path = directory ?? run.path("tree-\(system)-\(count)")
        let start = Elapsed.now
        let (found, close) = try await open(path)
        let elapsed = Elapsed.now - start
        try await close()
        guard found == expected else {
            throw Run.Wrong(
                description: "\(system.label), \(row.title): \(found) found, \(expected) expected")
        }
        if round > 0 { run.report.add(row, count: count, system, elapsed / Double(units)) }
    }

    // MARK: An outbox

    /// Messages that were written offline, after a restart: listed, and in the first value of an
    /// observer of all rooms.
    private func pendingMessages() async throws {
        try await TreeStores.build(run, count: count)
        let directory = run.path("tree-outbox-\(count)")
        if run.options.systems.contains(.larder) {
            try await TreePeer.fillEmpty(directory: directory)
            let peer = try TreePeer(directory: directory, durability: .lastCommitAtRisk)
            try await TreePeer.writeTogether(try peer.writes(0..<count))
            try await peer.close()
        }
        for round in 0...run.options.rounds {
            try await opening(
                .larder, Self.outbox, round, roomCount + count, units: count, in: directory
            ) { path in
                let peer = try TreePeer(directory: path)
                let shown = await peer.observeFirst("rooms")
                return (try await shown + peer.pendingWriteCount(), peer.close)
            }
            try await opening(
                .floor, Self.outbox, round, count * TreeWorkload.messageLeaves, units: count
            ) { path in
                (TreeFloorPeer(directory: path).readRooms(), {})
            }
        }
        run.report.printRow(Self.outbox.id, count: count)
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// The same trees in each of the selected systems.
final class TreeStores: Peers<TreePeer, TreeFloorPeer, TreeGRDBPeer> {
    /// Opens the stores with that many messages and scores.
    init(_ run: Run, count: Int) async throws {
        let systems = run.options.systems
        try await Self.build(run, count: count)
        func directory(_ system: System) -> String { run.path("tree-\(system)-\(count)") }
        super.init(
            larder: systems.contains(.larder)
                ? try TreePeer(directory: directory(.larder)) : nil,
            floor: systems.contains(.floor) ? TreeFloorPeer(directory: directory(.floor)) : nil,
            grdb: systems.contains(.grdb) ? try TreeGRDBPeer(directory: directory(.grdb)) : nil)
    }

    func close() async throws {
        try await larder?.close()
        try grdb?.close()
    }

    /// Creates the closed stores.
    static func build(_ run: Run, count: Int) async throws {
        guard run.builtTrees.insert(count).inserted else { return }
        func path(_ system: System) -> String { run.path("tree-\(system)-\(count)") }
        if run.options.systems.contains(.larder) {
            try await TreePeer.fill(directory: path(.larder), messages: count, scores: count)
        }
        if run.options.systems.contains(.floor) {
            TreeFloorPeer(directory: path(.floor)).fill(messages: count, scores: count)
        }
        if run.options.systems.contains(.grdb) {
            let grdb = try TreeGRDBPeer(directory: path(.grdb))
            try grdb.fill(messages: count, scores: count)
            try grdb.close()
        }
    }
}
