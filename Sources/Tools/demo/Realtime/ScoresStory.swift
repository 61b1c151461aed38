import Dispatch
import LarderDemo
import LarderRealtime
import Synchronization

/// The scores of six dinosaurs, of which a database caches the best four.
///
/// Each chapter runs in a process of its own: they share only the directory of the cache and the
/// backend.
struct ScoresStory {
    private let directory: String
    private let connection: RealtimeRemoteConnection
    private let transcript = Transcript()

    /// - Parameters:
    ///   - directory: the directory of the cache.
    ///   - connection: the backend.
    init(directory: String, connection: RealtimeRemoteConnection) {
        self.directory = directory
        self.connection = connection
    }

    private static let scores = [
        "bruhathkayosaurus": 55, "lambeosaurus": 21, "linhenykus": 80, "pterodactyl": 93,
        "stegosaurus": 5, "triceratops": 22,
    ]

    /// Observes the best four of the scores that another client writes.
    func load() async throws {
        transcript.title("Scores: a process with a network")
        try await transcript.step("another client writes the scores of six dinosaurs") {
            let other = try open(.memory)
            try await other.reference(withPath: "scores").setValue(Self.scores)
            try await other.close()
            return "acknowledged"
        }
        let database = try open(.directory(directory))
        try await transcript.step("observe the best 4") {
            let window = Window(database.reference(withPath: "scores"), last: 4)
            try await window.value()
            return try await window.summary(expecting: 4, complete: true)
        }
        try await database.close()
    }

    /// Queries the cache without a network; then the network returns.
    func comeBack() async throws {
        let database = try open(.directory(directory), startsOffline: true)
        let scores = database.reference(withPath: "scores")
        transcript.title("Scores: the next process, without a network")
        try await transcript.step("observe the best 4") {
            try await Window(scores, last: 4).summary(expecting: 4, complete: true)
        }
        try await transcript.step("observe the best 2") {
            try await Window(scores, last: 2).summary(expecting: 2, complete: false)
        }
        let six = Window(scores, last: 6)
        try await transcript.step("observe the best 6") {
            try await six.summary(expecting: 4, complete: false)
        }
        try await transcript.step("count a hit of lambeosaurus, the fifth, in a transaction") {
            countHit(scores.child("lambeosaurus"))
            return "\(try await database.pendingWrites().count) write pending"
        }
        try await transcript.step("the network returns") {
            database.goOnline()
            try await six.value()
            return try await six.summary(expecting: 6, complete: true)
        }
        try await transcript.step("read what the server has of lambeosaurus") {
            for try await writes in database.pendingWriteUpdates where writes.isEmpty { break }
            let hits = try await scores.child("lambeosaurus").getData().value as? Int
            guard hits == 22 else { throw Unequal("lambeosaurus has \(hits ?? 0)") }
            return "22, no write pending"
        }
        try await database.close()
    }

    private func countHit(_ score: DatabaseReference) {
        score.runTransactionBlock { data in
            data.value = (data.value as? Int ?? 0) + 1
            return .success(withValue: data)
        }
    }

    private func open(
        _ storage: DatabaseConfiguration.Storage, startsOffline: Bool = false
    ) throws -> Database {
        var configuration = DatabaseConfiguration(storage: storage)
        configuration.backend = connection
        configuration.startsOffline = startsOffline
        configuration.callbackQueue = DispatchQueue(label: "larder.demo")
        return try Database(configuration: configuration)
    }
}

/// An observed window of the best scores, with the events so far.
private final class Window: Sendable {
    private struct State {
        var children: Set<String> = []
        var isComplete = false
    }

    private let query: DatabaseQuery
    private let state = Mutex(State())
    private let firstValue: AsyncStream<Void>

    init(_ scores: DatabaseReference, last count: UInt) {
        query = scores.queryOrderedByValue().queryLimited(toLast: count)
        let (firstValue, feed) = AsyncStream<Void>.makeStream()
        self.firstValue = firstValue
        query.observe(.childAdded) { [self] child in
            state.withLock { _ = $0.children.insert(child.key) }
        }
        query.observe(.childRemoved) { [self] child in
            state.withLock { _ = $0.children.remove(child.key) }
        }
        query.observe(.value) { [self] _ in
            state.withLock { $0.isComplete = true }
            feed.finish()
        }
    }

    /// Suspends until the first `value` event.
    func value() async throws {
        for await _ in firstValue {}
    }

    /// The events so far as text.
    ///
    /// - Throws: if there were others than expected.
    func summary(expecting count: Int, complete: Bool) async throws -> String {
        // The engine answers after the events of earlier calls, which the queue then runs.
        let database = query.ref.database
        _ = try await database.pendingWrites()
        await withCheckedContinuation { continuation in
            database.callbackQueue.async { continuation.resume() }
        }
        let now = state.withLock { $0 }
        guard now.children.count == count, now.isComplete == complete else {
            throw Unequal("\(now.children.count) children, a value: \(now.isComplete)")
        }
        return "\(count) child_added, \(complete ? "value" : "no value: more may exist")"
    }
}
