import LarderCore

@testable import LarderHTTP

/// Requests of a connection, which a test responds to.
final class HTTPTestServer: Sendable {
    typealias Exchange = (request: HTTPRequest, reply: any HTTPReply)

    let ledger: MemoryLedger
    private let arrivals = AsyncStream.makeStream(of: Exchange.self)
    private let endings = AsyncStream.makeStream(of: Void.self)

    init(memory: Int = 1_000_000) {
        ledger = MemoryLedger(limit: memory)
    }

    /// Serves a request; returns when its task is cancelled.
    var respond: HTTPRespond {
        { [arrivals, endings] request, reply in
            arrivals.continuation.yield((request, reply))
            await withTaskCancellationHandler {
                let (idle, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in idle {}
                continuation.finish()
            } onCancel: {
                endings.continuation.yield()
            }
        }
    }

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
