import Dispatch
import Foundation
import LarderRealtime
import LarderRealtimeBackend
import Synchronization

/// The Realtime Database through its public API.
final class TreePeer: Sendable {
    private let database: Database
    private let scores: DatabaseQuery

    /// Opens a database; without a backend it is offline.
    init(
        directory: String, durability: DatabaseConfiguration.Durability = .everyCommit,
        backend: RealtimeBackend? = nil
    ) throws {
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.durability = durability
        configuration.cacheSize = .unlimited
        configuration.callbackQueue = Self.queue
        configuration.backend = backend?.connection
        database = try Database(configuration: configuration)
        scores = database.reference(withPath: "scores")
    }

    private static let queue = DispatchQueue(label: "tree-peer")

    func close() async throws { try await database.close() }

    // MARK: Filling

    /// Caches the rooms of messages, and scores, as a backend sends them.
    static func fill(directory: String, messages: Int, scores: Int) async throws {
        let backend = RealtimeBackend()
        try await write(to: backend, messages: messages, scores: scores)
        let peer = try TreePeer(
            directory: directory, durability: .lastCommitAtRisk, backend: backend)
        let rooms = 0..<messages / TreeWorkload.roomMessages
        try await peer.cache(rooms.map(TreeWorkload.room) + ["scores"])
        try await peer.close()
        try await backend.close()
    }

    private static func write(
        to backend: RealtimeBackend, messages: Int, scores: Int
    ) async throws {
        var configuration = DatabaseConfiguration.inMemory
        configuration.callbackQueue = queue
        configuration.backend = backend.connection
        let writer = try Database(configuration: configuration)
        var last: DatabaseWrite?
        for room in 0..<messages / TreeWorkload.roomMessages {
            let ref = writer.reference(withPath: TreeWorkload.room(room))
            var content: [String: Any] = [:]
            let first = room * TreeWorkload.roomMessages
            for number in first..<first + TreeWorkload.roomMessages {
                let key = TreeWorkload.messagePath(number).split(separator: "/")[2]
                content[String(key)] = try TreeWorkload.message(number)
            }
            last = ref.enqueueSetValue(content)
        }
        try await last?.acknowledged()
        var content: [String: Int] = [:]
        for number in 0..<scores {
            let key = TreeWorkload.scorePath(number).split(separator: "/")[1]
            content[String(key)] = TreeWorkload.score(number)
        }
        try await writer.reference(withPath: "scores").setValue(content)
        try await writer.close()
    }

    /// Waits until the data of all paths has come from the backend.
    private func cache(_ paths: [String]) async throws {
        let missing = Mutex(paths.count)
        await withCheckedContinuation { continuation in
            for path in paths {
                database.reference(withPath: path).observeSingleEvent(of: .value) { _ in
                    let left = missing.withLock { missing in
                        missing -= 1
                        return missing
                    }
                    if left == 0 { continuation.resume() }
                }
            }
        }
    }

    /// Empty rooms, of which all is known.
    static func fillEmpty(directory: String) async throws {
        let backend = RealtimeBackend()
        let peer = try TreePeer(
            directory: directory, durability: .lastCommitAtRisk, backend: backend)
        try await peer.cache(["rooms"])
        try await peer.close()
        try await backend.close()
    }

    // MARK: Reading

    /// Reads rooms into snapshots; the number of their messages.
    func readRooms(_ rooms: [Int]) async throws -> Int {
        var found = 0
        for room in rooms {
            let ref = database.reference(withPath: TreeWorkload.room(room))
            found += Int(try await ref.getData().childrenCount)
        }
        return found
    }

    /// The number of children in the first value that an observer gets.
    func observeFirst(_ path: String) async -> Int {
        let ref = database.reference(withPath: path)
        return Int(await ref.observeSingleEvent(of: .value).childrenCount)
    }

    /// The sum of the four highest scores.
    func highestScores() async throws -> Int {
        let top = scores.queryOrderedByValue().queryLimited(toLast: 4)
        let snapshot = try await top.getData()
        return snapshot.childSnapshots.reduce(0) { $0 + ($1.value as? Int ?? 0) }
    }

    func pendingWriteCount() async throws -> Int { try await database.pendingWrites().count }

    // MARK: Writing

    /// The arguments of `setValue`.
    struct Write: @unchecked Sendable {
        let ref: DatabaseReference
        let value: [String: Any]  // never changed once it is made, and of values alone
    }

    func writes(_ range: Range<Int>) throws -> [Write] {
        try range.map { number in
            Write(
                ref: database.reference(withPath: TreeWorkload.messagePath(number)),
                value: try TreeWorkload.message(number))
        }
    }

    /// Each write waits until the previous one is on disk.
    static func writeInTurn(_ writes: [Write]) async throws {
        for write in writes {
            try await write.ref.enqueueSetValue(write.value).committedLocally()
        }
    }

    /// Enqueues all writes; returns when the last one is on disk.
    static func writeTogether(_ writes: [Write]) async throws {
        var last: DatabaseWrite?
        for write in writes { last = write.ref.enqueueSetValue(write.value) }
        try await last?.committedLocally()
    }
}
