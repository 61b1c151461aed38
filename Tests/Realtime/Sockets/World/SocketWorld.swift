import Foundation
import LarderNetworkTestSupport
import LarderRealtime
import LarderSharedTestSupport
import Synchronization

/// Some clients, each behind a proxy, and a server on disk, over real sockets.
///
/// What is done follows from a seed. What comes of it follows also from how this machine runs
/// threads, so that a seed repeats the script and not every interleaving.
final class SocketWorld {
    /// Whether what is done is printed: with `LARDER_WIRE_TRACE` in the environment.
    private static let isTracing =
        ProcessInfo.processInfo.environment["LARDER_WIRE_TRACE"] != nil

    let seed: UInt64
    var random: SeededRandom
    let server: SocketServer
    private(set) var clients: [SocketClient] = []
    /// What was done, in order.
    private var script: [String] = []
    private let directory: TemporaryDirectory

    /// The numbers of the writes that were made.
    var writes: [Int] = []
    /// How many of them increment `sum`.
    var incrementCount = 0
    let transactions = TransactionCounts()
    /// Transactions and reads that were begun and are not waited for.
    var tasks: [Task<Void, Never>] = []

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        directory = try TemporaryDirectory()
        server = try SocketServer(directory: directory.file("server"))
        try await server.start()
        for number in 1...(2 + random.below(2)) {
            clients.append(
                try await SocketClient(
                    number, isPersistent: number == 1 || random.oneIn(2), serverPort: server.port))
        }
    }

    /// Notes what is done.
    func note(_ text: String) {
        script.append(text)
        if Self.isTracing { print("world \(seed): \(text)") }
    }

    /// Lets the world live, heal and end.
    ///
    /// - Throws: what was broken, with the script.
    func live() async throws {
        for _ in 0..<(60 + random.below(60)) { try await act() }
        try await heal()
        try await checkAgreement()
        for client in clients {
            try await client.end()
            await client.proxy.close()
        }
        try await server.stop()
    }

    /// Waits for something that is to happen soon.
    ///
    /// - Throws: what was broken, where it has not happened in four minutes.
    private func within(
        _ what: String, _ body: @escaping @Sendable () async throws -> Void,
        otherwise state: () -> String = { "" }
    ) async throws {
        do {
            try await withDeadline(.seconds(240), body)
        } catch {
            throw broken("\(what): \(error) \(state())")
        }
    }

    private func broken(_ promise: String) -> BrokenPromise {
        BrokenPromise(
            description: "repeat the script with LARDER_TEST_SEED=\(seed)\n\(promise)\n"
                + "after: \(script.joined(separator: "; "))")
    }

    // MARK: The end

    /// Everything works from now on: all that is pending is sent.
    private func heal() async throws {
        note("the world heals")
        if !server.isRunning { try await server.start() }
        for client in clients {
            await client.proxy.heal()
            // Else a connection that leads nowhere is noticed by the client itself.
            if random.oneIn(2) { await client.proxy.cut() }
            client.database.goOnline()
            client.database.reconnect()
        }
        for client in clients {
            // Writes are answered in order.
            let last = client.database.reference(withPath: "end/\(client.number)")
            try await within("client \(client.number) sends what is pending") {
                try await last.setValue(true)
            }
        }
        let tasks = tasks
        try await within("transactions end") { for task in tasks { await task.value } }
    }

    /// The server has what was written, each write once, and all clients have what it has.
    private func checkAgreement() async throws {
        let witness = try SocketClient.opened(port: server.port, isWitness: true)
        let tree = try await witness.reference().getData()
        let made = Set((tree.childSnapshot(forPath: "log").value as? [String: Any] ?? [:]).keys)
        let lost = writes.filter { !made.contains("w\($0)") }
        guard lost.isEmpty else { throw broken("the writes \(lost) are lost") }
        let sum = tree.childSnapshot(forPath: "sum").value as? Int ?? 0
        guard sum == incrementCount else {
            throw broken("\(incrementCount) increments make \(sum)")
        }
        let counter = tree.childSnapshot(forPath: "counter").value as? Int ?? 0
        let (begun, committed) = transactions.value
        guard committed <= counter, counter <= begun else {
            throw broken(
                "\(committed) of \(begun) transactions were committed and count \(counter)")
        }
        for client in clients {
            client.listen(to: .all)
            for listener in client.listeners {
                // A transaction of an earlier process may be made meanwhile.
                try await within(
                    "a listener of client \(client.number) to \(listener.question) agrees"
                ) {
                    try await listener.agree(with: witness)
                } otherwise: {
                    "has \(listener.value ?? "nothing")"
                }
            }
        }
        try await witness.close()
    }
}

/// How many transactions were begun, and how many of them are known to be committed.
final class TransactionCounts: Sendable {
    private let counts = Mutex((begun: 0, committed: 0))

    var value: (begun: Int, committed: Int) { counts.withLock { $0 } }

    func noteBegin() {
        counts.withLock { $0.begun += 1 }
    }

    func noteCommit() {
        counts.withLock { $0.committed += 1 }
    }
}

/// A promise that was broken in a world, and how to see it again.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}
