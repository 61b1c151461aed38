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

    /// Observes the best four of the scores that another client has written.
    func load() async throws {
        transcript.title("A Realtime Database with a network: the scores of six dinosaurs")
        try await transcript.step("another client writes them") {
            let other = try open(.memory)
            try await other.reference(withPath: "scores").setValue(Self.scores)
            try await other.close()
            return "acknowledged"
        }
        let database = try open(.directory(directory))
        try await transcript.step("observe the best 4, which are now cached") {
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
        transcript.title("The next process, without a network: queries are answered from the cache")
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
        try await transcript.step("add 1 to lambeosaurus, which is not cached, in a transaction") {
            addOne(to: scores.child("lambeosaurus"))
            return "1 for now, \(try await database.pendingWrites().count) write pending"
        }
        transcript.title("The network returns")
        try await transcript.step("the observer of the best 6 receives the other two") {
            database.goOnline()
            try await six.value()
            return try await six.summary(expecting: 6, complete: true)
        }
        try await transcript.step("the transaction runs again on the server's 21") {
            for try await writes in database.pendingWriteUpdates where writes.isEmpty { break }
            let score = try await scores.child("lambeosaurus").getData().value as? Int
            guard score == 22 else {
                throw Unequal("lambeosaurus has \(score.map { "\($0)" } ?? "no score")")
            }
            return "lambeosaurus 22, no write pending"
        }
        try await database.close()
    }

    private func addOne(to score: DatabaseReference) {
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
        var children: [String: Int] = [:]
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
            state.withLock { $0.children[child.key] = child.value as? Int }
        }
        query.observe(.childRemoved) { [self] child in
            state.withLock { $0.children[child.key] = nil }
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
            throw Unequal(
                "\(now.children.count) children, \(now.isComplete ? "complete" : "incomplete")")
        }
        let scores = now.children.values.sorted(by: >).map(String.init).joined(separator: ", ")
        return scores + (complete ? "; complete" : "; the server may have others")
    }
}
