import LarderCore
import Synchronization

@testable import LarderHTTP

/// Requests of a connection, which a test responds to.
final class HTTPTestServer: Sendable {
    typealias Exchange = (request: HTTPRequest, reply: any HTTPReply)

    let ledger: MemoryLedger
    private let arrivals = AsyncStream.makeStream(of: Exchange.self)
    private let endings = AsyncStream.makeStream(of: Void.self)
    private let waits = Waits()

    /// What requests wait on that are being served.
    private final class Waits: Sendable {
        private let continuations = Mutex<[AsyncStream<Void>.Continuation]>([])

        var isEmpty: Bool { continuations.withLock(\.isEmpty) }

        func add(_ continuation: AsyncStream<Void>.Continuation) {
            continuations.withLock { $0.append(continuation) }
        }

        func end() {
            for continuation in continuations.withLock({ $0 }) { continuation.finish() }
        }
    }

    init(memory: Int = 1_000_000) {
        ledger = MemoryLedger(limit: memory)
    }

    deinit {
        waits.end()
    }

    /// Serves a request; returns when its task is cancelled, or the server is gone.
    var respond: HTTPRespond {
        { [arrivals, endings, waits] request, reply in
            arrivals.continuation.yield((request, reply))
            await withTaskCancellationHandler {
                let (idle, continuation) = AsyncStream.makeStream(of: Void.self)
                waits.add(continuation)
                for await _ in idle {}
            } onCancel: {
                endings.continuation.yield()
            }
        }
    }

    /// True once a request is served.
    var hasRequest: Bool { !waits.isEmpty }

    /// Waits for the next request.
    func next() async -> Exchange? {
        for await exchange in arrivals.stream { return exchange }
        return nil
    }

    /// Waits until a client has left.
    func ending() async {
        for await _ in endings.stream { return }
    }
}

extension HTTPLimits {
    /// Limits of tests.
    static func ofTests(bodyBytes: Int = 100_000) -> HTTPLimits {
        HTTPLimits(
            bodyBytes: bodyBytes, bodyTime: .seconds(60), writeTime: .seconds(30),
            admission: RequestAdmission(limit: 4 * bodyBytes))
    }
}
