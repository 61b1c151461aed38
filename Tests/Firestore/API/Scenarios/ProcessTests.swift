import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("A killed process loses nothing that was durable")
struct KillTests {
    /// Rounds of writing and killing; `LARDER_KILL_ROUNDS` asks for more.
    private static let rounds =
        ProcessInfo.processInfo.environment["LARDER_KILL_ROUNDS"].flatMap { Int($0) } ?? 8

    @Test(
        "After SIGKILL all writes reported as durable exist, in order, and none partially",
        arguments: [false, true])
    func kills(isLocal: Bool) async throws {
        let directory = try TemporaryDirectory()
        // The child opens a local database without knowing.
        try await Self.open(directory.file("store"), isLocal: isLocal).terminate()
        var random = SeededRandom()
        let seed = random.seed
        var written = 0
        for round in 0..<Self.rounds {
            let reported = try Self.runChild(
                directory.file("store"), seed, written, killAfter: 1 + random.below(150))
            let left = try await Self.check(
                directory.file("store"), seed, after: isLocal ? max(reported, written) : nil)
            #expect(left >= max(reported, written), "round \(round), \(random)")
            written = left
        }
        #expect(written > 0)
    }

    /// Lets a child write until it has reported so many writes, and kills it.
    ///
    /// - Returns: the last write that it reported.
    private static func runChild(
        _ directory: String, _ seed: UInt64, _ done: Int, killAfter count: Int
    ) throws -> Int {
        let child = try TestChild("LarderTestChild", [directory, "\(seed)", "\(done)"])
        let lines = try #require(child.kill(after: count))
        return lines.compactMap { Int($0) }.max() ?? 0
    }

    private static func open(_ directory: String, isLocal: Bool = false) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "kill-test"
        configuration.isLocal = isLocal
        return try Firestore(configuration: configuration)
    }

    /// Opens the store and compares it with the script.
    ///
    /// - Parameter reported: for a local database, which does not know how many writes it has: at
    ///   least so many.
    /// - Returns: how many writes are in it.
    private static func check(
        _ directory: String, _ seed: UInt64, after reported: Int?
    ) async throws -> Int {
        let database = try open(directory)
        let pending = try await database.pendingWrites().count
        let snapshot = try await database.collection("documents").getDocuments(source: .cache)
        let there = Dictionary(
            uniqueKeysWithValues: snapshot.documents.map { document in
                let data = document.data()
                return (
                    document.documentID,
                    WriteScript.Fields(
                        number: data["number"] as? Int, text: data["text"] as? String)
                )
            })
        var count = pending
        if let reported {
            #expect(pending == 0)
            // The child has at most 32 writes under way.
            let states = reported...(reported + 64)
            count =
                states.first { there == WriteScript.state(after: $0, seed: seed) } ?? reported
        }
        #expect(there == WriteScript.state(after: count, seed: seed), "after \(count) writes")
        try await database.terminate()
        return count
    }
}

@Suite("Processes that share a store")
struct SharingProcessTests {
    private let directory: TemporaryDirectory
    private let storage: StoreConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.access = .shared
        self.storage = storage
    }

    @Test(
        "Each sees the other's writes at once; a killed one's network role passes on within 5 s")
    func killedOwner() throws {
        let child = try TestChild(sharing: storage)
        // It has come first, and asks the backend for what it listens to.
        try child.read(until: "network")

        let (asked, heard) = (Signal(), Heard())
        var configuration = ClientConfiguration(
            storage: storage, databaseID: DatabaseID(project: "share-test"))
        configuration.remote = SilentRemote { asked.give() }
        let client = try Client(configuration)
        let listener = client.listen(
            to: Query(.collection(try CollectionPath("c"))), options: ListenOptions()
        ) { heard.take($0) }

        child.write("theirs\n")
        try heard.wait(for: ["theirs"])
        client.write(
            [Mutation(.set(try Record([:])), at: try DocumentPath("c/ours"))],
            committed: { _ in }, acknowledged: { _ in })
        try child.read(until: "heard ours theirs")
        #expect(!asked.isGiven)

        child.kill()
        // The lease may have been renewed just before; the rest is for a slow machine. The exact
        // time is tested with a manual clock (LeaseTests and the tests of several clients).
        try asked.wait(seconds: 20)
        listener.remove()
        try end(client)
    }

    @Test(
        "A store that is shared is not opened by a process that does not share, nor the other way")
    func exclusion() throws {
        let child = try TestChild(sharing: storage)
        try child.read(until: "network")
        var alone = storage
        alone.access = .readWrite
        let configuration = ClientConfiguration(
            storage: alone, databaseID: DatabaseID(project: "share-test"))
        let error = #expect(throws: LarderError.self) { try Client(configuration) }
        #expect(error?.kind == .failedPrecondition)
        child.kill()
        let client = try Client(configuration)
        let second = #expect(throws: LarderError.self) {
            var shared = ClientConfiguration(
                storage: storage, databaseID: DatabaseID(project: "share-test"))
            shared.storage.access = .shared
            _ = try Client(shared)
        }
        #expect(second?.kind == .failedPrecondition)
        try end(client)
    }

    @Test("Processes share a local database: each sees the other's final writes at once")
    func local() throws {
        let child = try TestChild(sharing: storage, isLocal: true)
        try child.read(until: "local")
        var configuration = ClientConfiguration(
            storage: storage, databaseID: DatabaseID(project: "share-test"))
        configuration.isLocal = true
        let client = try Client(configuration)
        let heard = Heard()
        let listener = client.listen(
            to: Query(.collection(try CollectionPath("c"))), options: ListenOptions()
        ) { heard.take($0) }
        child.write("theirs\n")
        try heard.wait(for: ["theirs"])
        client.write(
            [Mutation(.set(try Record([:])), at: try DocumentPath("c/ours"))],
            committed: { _ in }, acknowledged: { _ in })
        try child.read(until: "heard ours theirs")
        #expect(try client.pendingWrites().isEmpty)

        // It is not given a backend meanwhile.
        configuration.isLocal = false
        configuration.localData = .push
        configuration.remote = SilentRemote {}
        let other = configuration
        listener.remove()
        try end(client)
        let error = #expect(throws: LarderError.self) { try Client(other) }
        #expect(error?.kind == .failedPrecondition)
        child.kill()
    }

    private func end(_ client: Client) throws {
        let ended = Signal()
        client.terminate { _ in ended.give() }
        try ended.wait()
    }
}

extension TestChild {
    /// Starts a child that shares a store.
    fileprivate convenience init(
        sharing storage: StoreConfiguration, isLocal: Bool = false
    ) throws {
        guard case .directory(let directory) = storage.location else {
            throw LarderError(.invalidArgument, "only stores on disk are shared")
        }
        try self.init("LarderTestChild", [isLocal ? "share-local" : "share", directory])
    }

    /// Reads what it prints until a line comes.
    fileprivate func read(until line: String) throws {
        while !lines.contains(line) {
            try #require(read(), "it has ended after: \(lines)")
        }
    }
}

/// Something that happens once, and that a thread waits for.
private final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let given = Mutex(false)

    var isGiven: Bool { given.withLock { $0 } }

    func give() {
        given.withLock { $0 = true }
        semaphore.signal()
    }

    /// Waits for it for a limited time.
    ///
    /// The time is waited for in steps: it is longer when other programs keep this one waiting.
    func wait(seconds: Int = 120) throws {
        for _ in 0..<seconds * 10 {
            if semaphore.wait(timeout: .now() + 0.1) == .success { return }
        }
        try #require(isGiven, "it does not happen")
    }
}

/// What a listener has heard last.
private final class Heard: Sendable {
    private let ids = Mutex<[String]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func take(_ result: Result<ViewSnapshot, LarderError>) {
        guard case .success(let snapshot) = result else { return }
        ids.withLock { $0 = snapshot.documents.map(\.path.id) }
        semaphore.signal()
    }

    /// Waits until the result is this.
    func wait(for expected: [String]) throws {
        while ids.withLock({ $0 }) != expected {
            let last = ids.withLock { $0 }
            try #require(semaphore.wait(timeout: .now() + 120) == .success, "heard \(last)")
        }
    }
}

extension TestChild {
    /// Kills it once it has printed so many lines.
    ///
    /// - Returns: every whole line that it printed; nil when it ended by itself.
    func kill(after count: Int) -> [String]? {
        while lines.count < count, read() {}
        return kill() == 128 + SIGKILL ? lines : nil
    }
}
