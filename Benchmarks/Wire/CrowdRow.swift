import BenchmarkMeasuring
import Foundation
import LarderWire
import SwiftProtobuf
import Synchronization

/// Clients that listen and write for a while, each on its own connection: the server's memory must
/// not grow.
///
/// A client listens to a group of documents, of which it writes one, at most once a second; it goes on
/// when the write is acknowledged and its own listener has received it.
struct CrowdRow {
    let run: Run
    /// How long the clients write, after a warm-up.
    let seconds: Double

    private static let clientCount = 1_000
    private static let threadCount = 10
    private static let collection = "crowd"
    /// The memory at the end, relative to that after the warm-up.
    private static let flatness = 1.15
    /// The least time of the warm-up: the server keeps its first 1,000 commits for reads in the past,
    /// before it drops one for each new one.
    private static let warmUp = 10.0
    /// The least time from one write of a client to its next.
    private static let pause = 1.0

    func callAsFunction() throws {
        let server = try run.startServer("crowd")
        try run.load(server, Self.collection, count: Self.clientCount)
        let crowd = try Crowd(
            server, count: Self.clientCount, threads: Self.threadCount, Self.collection,
            pause: Self.pause)
        let start = Clock.wall
        let warm = start + max(seconds / 5, Self.warmUp)
        crowd.begin(until: warm + seconds)
        var samples: [(time: Double, bytes: Double)] = []
        while !crowd.wait(seconds: min(max(seconds / 100, 0.1), 5)) {
            samples.append((Clock.wall, server.anonymousBytes))
        }
        let latencies = try crowd.latencies()
        let first = samples.filter { $0.time > warm && $0.time < warm + seconds / 5 }.map(\.bytes)
        let last = samples.filter { $0.time > warm + seconds * 4 / 5 }.map(\.bytes)
        run.report.add(
            Row(
                id: "crowd",
                title: "memory of 1,000 clients that listen and write for \(Int(seconds)) seconds",
                lines: [
                    .init(
                        label: "anonymous memory, first fifth", value: first.series(1 / 1_048_576),
                        unit: "MiB"),
                    .init(
                        label: "anonymous memory, last fifth", value: last.series(1 / 1_048_576),
                        unit: "MiB"),
                    .init(
                        label: "writes",
                        value: Summary([Double(latencies.count) / (warm + seconds - start)]),
                        unit: "/s"),
                    .init(
                        label: "a write until its writer's listener has it",
                        value: latencies.series(1e3), unit: "ms"),
                ],
                verdict: .init(
                    reached: Summary(last).median / Summary(first).median, direction: .atMost,
                    limit: Self.flatness, unit: "times that of the first fifth")))
        server.stop()
    }
}

/// The clients, in groups that share a thread.
private final class Crowd: Sendable {
    private struct Member: @unchecked Sendable {
        // Used by one thread at a time.
        let connection: WireConnection
        let number: Int
    }

    private struct State {
        var latencies: [Double] = []
        var failure: (any Error)?
    }

    private let members: [[Member]]
    private let collection: String
    private let pause: Double
    private let state = Mutex(State())
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Connects the clients and opens their listeners.
    init(
        _ server: ServerProcess, count: Int, threads: Int, _ collection: String, pause: Double
    ) throws {
        self.collection = collection
        self.pause = pause
        members = try (0..<threads).map { thread in
            try stride(from: thread, to: count, by: threads).map { number in
                let connection = try WireConnection(port: server.port)
                let query = Requests.query(collection, group: number / Requests.groupCount)
                try connection.listen(try Requests.listen(query), streams: 1)
                return Member(connection: connection, number: number)
            }
        }
    }

    /// Begins to write, until a time of the wall clock.
    func begin(until end: Double) {
        Thread.detachNewThread { [self] in
            do {
                try Threads.run(members.count) { thread in
                    var revision = 0
                    while Clock.wall < end {
                        let start = Clock.wall
                        revision += 1
                        for member in self.members[thread] { try self.write(member, revision) }
                        let rest = self.pause - (Clock.wall - start)
                        if rest > 0 { usleep(UInt32(rest * 1e6)) }
                    }
                }
            } catch {
                state.withLock { $0.failure = error }
            }
            hasEnded.signal()
        }
    }

    /// Waits for the end of all clients.
    ///
    /// - Returns: false if they go on after a time.
    func wait(seconds: Double) -> Bool {
        hasEnded.wait(timeout: .now() + seconds) == .success
    }

    /// The times of all writes.
    func latencies() throws -> [Double] {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            return state.latencies
        }
    }

    private func write(_ member: Member, _ revision: Int) throws {
        let document = Requests.document(collection, member.number, revision: revision)
        let connection = member.connection
        let start = Clock.wall
        let call = connection.open("Commit")
        try connection.send(try Requests.commit([document]), on: call, isLast: true)
        try connection.flush()
        var (isAcknowledged, isReceived) = (false, false)
        while !isAcknowledged || !isReceived {
            switch try connection.next() {
            case .ended(let stream): isAcknowledged = isAcknowledged || stream == call
            case .message(let stream, let bytes) where stream != call:
                isReceived = try isReceived || isRevision(bytes, document.name, revision)
            case .message: continue
            }
        }
        let latency = Clock.wall - start
        state.withLock { $0.latencies.append(latency) }
    }

    /// Whether a message of a listener has a revision of a document.
    private func isRevision(
        _ message: ArraySlice<UInt8>, _ name: String, _ revision: Int
    ) throws -> Bool {
        guard Told.isDocument(message) else { return false }
        let change = try Google_Firestore_V1_ListenResponse(serializedBytes: Array(message))
            .documentChange.document
        return change.name == name
            && change.fields.contains {
                $0.key == "revision" && $0.value.integerValue == Int64(revision)
            }
    }
}
