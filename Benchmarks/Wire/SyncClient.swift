import ArgumentParser
import Foundation
import Larder
import LarderGRPC
import Synchronization

/// A client that listens to a collection until its cache has all of it, and says what that took:
/// a process of its own, so that its memory is its own.
struct SyncClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync-client", abstract: "A client that the row sync starts.",
        shouldDisplay: false)

    /// What it says.
    struct Figure: Codable {
        /// Seconds until all documents are in the cache and told.
        let wall: Double
        /// Seconds of its threads.
        let processor: Double
        /// How much memory that no file backs it took for the first tenth of the collections
        /// beyond what it had, at most.
        let firstGrowth: Double
        /// The same for all of them.
        let growth: Double
    }

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "The directory of the cache.")
    var directory: String

    @Option(help: "How many collections.")
    var collections: Int

    @Option(help: "How many collections at a time.")
    var width: Int

    @Option(help: "How many documents each has.")
    var count: Int

    func run() async throws {
        var server = CloudFirestoreConfiguration(project: Requests.project, environment: [:])
        server.useEmulator(withHost: "127.0.0.1", port: port)
        let cloud = try CloudFirestore(server)
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = Requests.project
        configuration.backend = cloud.connection
        configuration.cacheSize = .unlimited
        configuration.callbackQueue = DispatchQueue(label: "callbacks")
        let db = try Firestore(configuration: configuration)
        // Connects, and makes what is made once.
        _ = try await db.collection("warm").getDocuments(source: .server)
        let memory = MemoryPeak()
        let (wall, processor) = (Clock.now, Clock.processor)
        let firstGrowth = try await syncAll(db, memory)
        let figure = Figure(
            wall: Clock.now - wall, processor: Clock.processor - processor,
            firstGrowth: firstGrowth, growth: memory.end())
        print(String(decoding: try JSONEncoder().encode(figure), as: UTF8.self))
        try await db.terminate()
        await cloud.close()
    }

    /// Listens to all collections, in turn but several at a time.
    ///
    /// - Returns: how much memory the first tenth of them took.
    private func syncAll(_ db: Firestore, _ memory: MemoryPeak) async throws -> Double {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var firstGrowth = 0.0
            for number in 0..<collections {
                if number >= width { try await group.next() }
                if number == collections / 10 + width { firstGrowth = memory.growth }
                group.addTask {
                    try await sync(db.collection(SyncRow.collection(number, of: collections)))
                }
            }
            try await group.waitForAll()
            return firstGrowth
        }
    }

    /// Listens until the backend's documents are all there.
    private func sync(_ collection: CollectionReference) async throws {
        for try await snapshot in collection.snapshots where !snapshot.metadata.isFromCache {
            guard snapshot.count == count else {
                throw WireConnection.Problem(
                    description: "\(snapshot.count) documents instead of \(count)")
            }
            return
        }
    }
}

/// How much memory the process takes, looked at often.
final class MemoryPeak: Sendable {
    private let state = Mutex((peak: 0.0, isDone: false))
    private let start = ProcessStatus.bytes("RssAnon")

    /// Begins to look.
    init() {
        Thread.detachNewThread {
            while self.look() { usleep(20_000) }
        }
    }

    /// Bytes at most so far, beyond what there was at the beginning.
    var growth: Double { state.withLock { $0.peak } - start }

    /// Stops looking.
    ///
    /// - Returns: the growth.
    func end() -> Double {
        state.withLock { $0.isDone = true }
        return growth
    }

    private func look() -> Bool {
        let now = ProcessStatus.bytes("RssAnon")
        return state.withLock { state in
            state.peak = max(state.peak, now)
            return !state.isDone
        }
    }
}
