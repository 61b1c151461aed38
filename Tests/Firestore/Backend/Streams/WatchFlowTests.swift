import LarderCore
import LarderModel
import LarderQuery
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

    @Test("Documents that were read for a client and are not sent are charged")
    func ready() throws {
        try fill(20)
        let ledger = MemoryLedger(limit: 60_000)
        let account = ledger.open { _ in }
        // There is no memory for more once a few of the first page are sent.
        let probe = FlowProbe(backend, WatchFlow(bytesAhead: .max / 2, memory: account))
        probe.stream.send(.add(1, try .test("e")))
        backend.run()
        #expect(probe.documentCount < 10)
        #expect(ledger.heldBytes > 20 * 10_000)
        account.close()
    }

    @Test("Documents of a query with a limit are charged to the earliest of its streams")
    func window() throws {
        try fill(20)
        let ledger = MemoryLedger(limit: .max)
        let accounts = (0..<2).map { _ in ledger.open { $0() } }
        let probes = accounts.map {
            FlowProbe(backend, WatchFlow(bytesAhead: .max / 2, memory: $0))
        }
        func held(_ number: Int) -> Int {
            accounts[number].heldBytes
                - probes[number].sizes.withLock { $0.reduce(0, +) }
        }
        var query = try Query.test("e")
        query.limit = .first(10)
        for probe in probes { probe.stream.send(.add(1, query)) }
        backend.run()
        #expect((100_000..<110_000).contains(held(0)))
        #expect(held(1) == 0)
        // Their number changes: nothing moves up.
        for number in 0..<15 { try backend.commit(.delete("e/\(number)")) }
        #expect((50_000..<60_000).contains(held(0)))
        probes[0].stream.close()
        backend.run()
        #expect(held(0) == 0)
        #expect((50_000..<60_000).contains(held(1)))
        probes[1].stream.send(.remove(targetID: 1))
        backend.run()
        #expect(held(1) == 0)
        for account in accounts { account.close() }
    }

    @Test("A query with a limit whose documents exceed the memory is refused")
    func windowBeyondLimit() throws {
        try fill(40)
        let ledger = MemoryLedger(limit: 100_000)
        let account = ledger.open { _ in }
        let probe = FlowProbe(backend, WatchFlow(bytesAhead: .max / 2, memory: account))
        var query = try Query.test("e")
        query.limit = .first(30)
        probe.stream.send(.add(1, query))
        backend.run()
        #expect(probe.documentCount == 0 && ledger.heldBytes < 1_000)
        query.limit = .first(2)
        probe.stream.send(.add(2, query))
        backend.run()
        #expect(probe.documentCount == 2)
        account.close()
    }

    @Test("The names of a query's documents are charged while they are cached")
    func cachedNames() throws {
        try backend.commit((0..<100).map { try .set("n/\($0)", [:]) })
        let ledger = MemoryLedger(limit: .max)
        let account = ledger.open { $0() }
        let probe = FlowProbe(backend, WatchFlow(bytesAhead: .max / 2, memory: account))
        probe.stream.send(.add(1, try .test("n")))
        backend.run()
        let sent = probe.sizes.withLock { $0.reduce(0, +) }
        #expect((10_000..<20_000).contains(ledger.heldBytes - sent))
        try backend.commit(.delete("n/0"))
        #expect(ledger.heldBytes == probe.sizes.withLock { $0.reduce(0, +) })
        account.close()
    }
}
