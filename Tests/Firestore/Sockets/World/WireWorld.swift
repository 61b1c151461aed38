import Foundation
import Larder
import LarderGRPC
import LarderModel
import LarderRemote
import LarderServer
import LarderSharedTestSupport
import LarderTestSupport
import Testing

/// Some clients, each behind a proxy, and a server on disk, over real sockets.
///
/// What is done follows from a seed. What comes of it follows also from how this machine runs
/// threads, so that a seed repeats the script and not every interleaving.
final class WireWorld {
    static let project = "world"

    /// Whether what is done is printed: with `LARDER_WIRE_TRACE` in the environment.
    private static let isTracing =
        ProcessInfo.processInfo.environment["LARDER_WIRE_TRACE"] != nil

    let seed: UInt64
    var random: SeededRandom
    let server: WireServer
    let ledger = WireLedger()
    private(set) var clients: [WireClient] = []
    var writes: [WireWrite] = []
    /// What was begun and is waited for at the end only, with what it is.
    private(set) var tasks: [(name: String, task: Task<Void, Never>)] = []
    /// What was done, in order.
    let script = Awaited<[String]>([])
    /// A client whose connection never breaks.
    let witness: CloudFirestore
    private let directory: TemporaryDirectory
    private var lastNumber = 0

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        directory = try TemporaryDirectory()
        server = try await WireServer.started(.directory(directory.file("server")))
        witness = try server.connection(project: Self.project)
        for number in 1...(2 + random.below(2)) {
            clients.append(
                try await WireClient(
                    number, isPersistent: number == 1 || random.oneIn(2), server, ledger))
        }
    }

    /// A number that no other write has.
    func makeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Notes what is done.
    func note(_ text: String) {
        script.change { $0.append(text) }
        if Self.isTracing { print("world \(seed): \(text)") }
    }

    /// Begins something that nothing waits for until the world heals.
    func begin(_ name: String, _ body: @escaping @Sendable () async -> Void) {
        tasks.append((name, Task(operation: body)))
    }

    /// Waits for what was begun.
    func endTasks() async throws {
        for (name, task) in tasks { try await within("\(name) ends") { await task.value } }
        tasks = []
    }

    /// Lets the world live, heal and end.
    ///
    /// - Throws: what was broken, with the script.
    func live() async throws {
        let (script, seed) = (script, seed)
        // Before the limit of the suite, which does not say what has no end.
        let watch = Task {
            try await Task.sleep(for: .seconds(540))
            Issue.record("world \(seed) has not ended, after: \(script.value.suffix(10))")
        }
        defer { watch.cancel() }
        for _ in 0..<(60 + random.below(60)) { try await act() }
        try await heal()
        try await checkAgreement()
        try await end()
        ledger.check {
            !$0.id.hasPrefix("d")
        } isForeign: {
            $0.id.hasPrefix("e")
        }
        guard ledger.violations.isEmpty else { throw BrokenPromises(self) }
    }

    /// A reading of a document by the witness: time passes in which the network does something.
    func breathe() async throws {
        let remote = witness.connection.remote
        let path = try DocumentPath("c/k0")
        _ = await withCheckedContinuation { continuation in
            remote.read([path], as: Credentials()) { continuation.resume(returning: $0) }
        }
    }
}

/// The promises that were broken in a world, and how to see it again.
struct BrokenPromises: Error, CustomStringConvertible {
    let description: String

    init(_ world: WireWorld, _ promises: [String] = []) {
        let promises = (world.ledger.violations + promises).prefix(10).joined(separator: "\n")
        description =
            "repeat the script with LARDER_TEST_SEED=\(world.seed)\n\(promises)\n"
            + "after: \(world.script.value.joined(separator: "; "))"
    }
}
