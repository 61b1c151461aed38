import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

@Suite("Processes that share a Realtime Database", .serialized)
struct RealtimeProcessTests {
    /// Rounds of writing and killing; `LARDER_KILL_ROUNDS` asks for more.
    private static let rounds =
        ProcessInfo.processInfo.environment["LARDER_KILL_ROUNDS"].flatMap { Int($0) } ?? 2

    private let directory: TemporaryDirectory
    private let backend = RealtimeBackend()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func open(
        _ access: DatabaseConfiguration.Access, hasBackend: Bool = true
    ) throws -> Database {
        var configuration = DatabaseConfiguration(directory: directory.file("database"))
        configuration.access = access
        if hasBackend { configuration.backend = backend.connection }
        configuration.callbackQueue = DispatchQueue(label: "test")
        return try Database(configuration: configuration)
    }

    @Test("What killed processes have left is sent by another, once and in order")
    func kills() async throws {
        var random = SeededRandom()
        let database = try open(.shared)
        for round in 0..<Self.rounds {
            let names = (1...3).map { "\(round)-\($0)" }
            let children = try names.map {
                try TestChild(writing: directory.file("database"), $0)
            }
            // The first ones end while others write and may replace them.
            var reported: [Int] = []
            for child in children { reported.append(try child.kill(after: 1 + random.below(60))) }
            try await waitForPendingWrites(of: database)
            for (name, reported) in zip(names, reported) {
                try await check(name, reported, database, "round \(round), \(random)")
            }
        }
        try await database.close()
    }

    @Test("An open directory is shared by all processes or by none")
    func exclusion() async throws {
        let database = try open(.shared)
        let child = try TestChild(writing: directory.file("database"), "child")
        try child.wait(for: 1)
        let alone = #expect(throws: DatabaseError.self) { try open(.exclusive) }
        #expect(alone?.kind == .failedPrecondition)
        _ = try child.kill(after: 1)
        try await database.close()
        let exclusive = try open(.exclusive)
        let shared = #expect(throws: DatabaseError.self) { try open(.shared) }
        #expect(shared?.kind == .failedPrecondition)
        try await exclusive.close()
    }

    @Test(
        "Cache rules of one process are obeyed by the one that keeps the cache, and its successor")
    func cacheRules() async throws {
        func fetch(_ database: Database) async throws {
            for path in ["menus", "tokens"] {
                _ = try await database.reference(withPath: path).getData()
            }
        }
        func counts(_ database: Database) async throws -> [String: Int] {
            // The first call takes notice of other processes, and what it leads to ends its turn.
            _ = try await database.cacheRuleUsage()
            return Dictionary(
                uniqueKeysWithValues: try await database.cacheRuleUsage().map {
                    ($0.rule.path, $0.trackedQueryCount)
                })
        }
        let first = try open(.shared)
        try await first.reference().setValue(["menus": "today", "tokens": "secret"])
        try await fetch(first)
        #expect(try await counts(first).isEmpty)
        let child = try TestChild(
            writing: directory.file("database"), "one", pinning: ["menus"])
        try child.wait(for: 1)
        #expect(try await counts(first) == ["menus": 1, "": 0])
        #expect(try await first.evict().evictedQueryCount == 0)

        // The child keeps the cache once it is alone, then the next process does.
        try await first.close()
        let second = try open(.shared)
        _ = try child.kill(after: 2)
        try await waitForPendingWrites(of: second)
        try await fetch(second)
        #expect(try await counts(second) == ["menus": 1, "": 0])
        let other = try TestChild(
            writing: directory.file("database"), "two", pinning: ["menus", "tokens"])
        _ = try other.kill(after: 1)
        try await fetch(second)
        #expect(try await counts(second) == ["menus": 1, "tokens": 1, "": 0])
        try await second.close()

        let alone = try open(.exclusive, hasBackend: false)
        #expect(try await alone.evict().evictedQueryCount == 0)
        for (path, text) in ["menus": "today", "tokens": "secret"] {
            let data = try await alone.reference(withPath: path).getData()
            #expect(data.value as? String == text)
        }
        try await alone.close()
    }

    /// Waits until the processes that were killed are replaced and the backend has their writes.
    private func waitForPendingWrites(of database: Database) async throws {
        // Everything that was committed before is in the list that follows.
        _ = try await database.pendingWrites()
        for try await pending in database.pendingWriteUpdates where pending.isEmpty { return }
    }

    private func check(
        _ name: String, _ reported: Int, _ database: Database, _ comment: Comment
    ) async throws {
        let root = database.reference()
        let writes = try await root.child("writes/\(name)").getData()
        let numbers = writes.childSnapshots.compactMap { Int($0.key) }
        let count = numbers.count
        #expect(count >= reported, comment)
        #expect(numbers.max() ?? 0 == count, comment)
        #expect(try await root.child("last/\(name)").getData().value as? Int ?? 0 == count, comment)
        #expect(
            try await root.child("count/\(name)").getData().value as? Int ?? 0 == count, comment)
    }
}

extension TestChild {
    /// Starts a child that writes until it is killed.
    ///
    /// - Parameter locations: those that it pins by cache rules first; everything else is never
    ///   cached then.
    fileprivate convenience init(
        writing directory: String, _ name: String, pinning locations: [String] = []
    ) throws {
        try self.init("LarderRealtimeTestChild", [directory, name] + locations)
    }

    /// Waits until a number of writes is durable.
    fileprivate func wait(for count: Int) throws {
        while last < count { try #require(read(), "it has ended after: \(lines.suffix(5))") }
    }

    /// Kills it once a number of writes is durable.
    ///
    /// - Returns: the last one that it reported.
    fileprivate func kill(after count: Int) throws -> Int {
        try wait(for: count)
        kill()
        return last
    }

    /// The number in the last whole line.
    private var last: Int { lines.last.flatMap { Int($0) } ?? 0 }
}
