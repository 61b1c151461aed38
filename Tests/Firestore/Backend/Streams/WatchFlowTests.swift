import LarderCore
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: watch streams of slow clients")
struct WatchFlowTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
    }

    /// What a stream with a flow has sent.
    private final class FlowProbe: Sendable {
        let sizes = Box<[Int]>([])
        let stream: WatchConnection

        init(_ backend: TestBackend, _ flow: WatchFlow) {
            let sizes = sizes
            stream = backend.backend.serveWatchStream(as: Credentials(), flow) { event in
                guard case .response(let response) = event else { return }
                sizes.withLock { $0.append(response.sizeBytes) }
            }
            stream.demand(1_000)
        }

        var documentCount: Int { sizes.withLock { $0.filter { $0 > 1_000 }.count } }
    }

    private func fill(_ count: Int) throws {
        let text = Value.string(String(repeating: "x", count: 10_000))
        for number in 0..<count { try backend.commit(.set("e/\(number)", ["t": text])) }
    }

    @Test("A client that takes nothing is sent no more bytes than its flow allows")
    func flow() throws {
        try fill(100)
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        let probe = FlowProbe(backend, WatchFlow(bytesAhead: 50_000, memory: account))
        probe.stream.send(.add(1, try .test("e")))
        backend.run()
        #expect((4...6).contains(probe.documentCount))
        // The responses, and the names of what follows.
        #expect(ledger.heldBytes < 100_000)
        let first = probe.documentCount
        probe.stream.demand(0, bytes: 30_000)
        backend.run()
        #expect((2...4).contains(probe.documentCount - first))
        probe.stream.demand(0, bytes: .max / 2)
        backend.run()
        #expect(probe.documentCount == 100)
        account.close()
    }

    @Test("Changes that a client does not take are charged, each document once, until it leaves")
    func pending() throws {
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        let probe = FlowProbe(backend, WatchFlow(bytesAhead: 1, memory: account))
        probe.stream.send(.add(1, try .test("e")))
        backend.run()
        try fill(20)
        let held = ledger.heldBytes
        #expect(held > 20 * 10_000 && held < 25 * 10_000)
        try fill(20)
        #expect(ledger.heldBytes == held)
        probe.stream.demand(0, bytes: .max / 2)
        backend.run()
        let sent = probe.sizes.withLock { $0.reduce(0, +) }
        // What has been sent is released by the call that has sent it.
        #expect(probe.documentCount == 20 && ledger.heldBytes == sent)
        account.close()
        #expect(ledger.heldBytes == 0)
    }
}
