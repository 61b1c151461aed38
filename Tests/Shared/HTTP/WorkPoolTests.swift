import Dispatch
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Work pool")
struct WorkPoolTests {
    @Test("all work runs, and never more at a time than the limit")
    func limit() async throws {
        let pool = WorkPool("test", limit: 3)
        let state = Box((running: 0, most: 0, done: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    try await pool.run { () throws(LarderError) in
                        state.withLock {
                            $0.running += 1
                            $0.most = max($0.most, $0.running)
                        }
                        state.withLock {
                            $0.running -= 1
                            $0.done += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        state.withLock { #expect($0.most <= 3 && $0.done == 500) }
    }

    @Test("a pool of one thread runs its work in order")
    func order() async throws {
        let pool = WorkPool("test", limit: 1)
        let seen = Box<[Int]>([])
        for number in 0..<3_000 { pool.perform { seen.withLock { $0.append(number) } } }
        try await pool.run { () throws(LarderError) in }
        #expect(seen.withLock { $0 } == Array(0..<3_000))
    }

    @Test("work of a cancelled task is skipped")
    func cancelled() async {
        let pool = WorkPool("test", limit: 1)
        let isDone = Box(false)
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        let task = Task {
            await asyncCode {
                try await pool.run { () throws(LarderError) in isDone.withLock { $0 = true } }
            }
        }
        task.cancel()
        gate.signal()
        #expect(await task.value == .cancelled && !isDone.withLock { $0 })
    }

    @Test("responses of a connection wait without a thread while its client is behind")
    func backlog() async throws {
        let pool = WorkPool("test", limit: 1)
        let account = MemoryLedger(limit: .max).open { $0() }
        let origin = CallOrigin(account, account.open())
        let page = ResponseBacklog.maxBytes / 4
        let produced = Box(0)
        for _ in 0..<10 {
            pool.produce(for: origin) {
                produced.withLock { $0 += 1 }
                origin.memory.backlog.change(by: page)
            }
        }
        /// The number of pages, once all work that may run has run.
        func count() async throws -> Int {
            try await CallOrigin.$current.withValue(origin) {
                try await pool.run { () throws(LarderError) in produced.withLock { $0 } }
            }
        }
        #expect(try await count() == 4)
        account.backlog.change(by: -page)
        #expect(try await count() == 5)
        account.backlog.change(by: -2 * page)
        #expect(try await count() == 7)
        account.backlog.change(by: -4 * page)
        #expect(try await count() == 10)
    }

    @Test("a task that waits for its client goes on as soon as the client has taken enough")
    func awaitedClient() async throws {
        let pool = WorkPool("test", limit: 1)
        let account = MemoryLedger(limit: .max).open { $0() }
        account.backlog.change(by: ResponseBacklog.maxBytes)
        let isDone = Box(false)
        let task = Task {
            try await CallOrigin.$current.withValue(CallOrigin(account, account)) {
                try await pool.run(awaitsClient: true) { () throws(LarderError) in
                    isDone.withLock { $0 = true }
                }
            }
        }
        // The work of other clients, and of the connection itself, does not wait.
        try await pool.run { () throws(LarderError) in }
        #expect(!isDone.withLock { $0 })
        account.backlog.change(by: -1)
        try await task.value
        #expect(isDone.withLock { $0 })
    }

    /// Objects that identify clients.
    private final class Owner: Sendable {}

    @Test("clients take turns: one that asks for much delays itself")
    func turns() async throws {
        let pool = WorkPool("test", limit: 1)
        let owners = [Owner(), Owner()]
        let clients = owners.map(ObjectIdentifier.init)
        let order = Box<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        for number in 0..<200 {
            pool.perform(for: clients[0]) { order.withLock { $0.append(number) } }
        }
        for number in 1_000..<1_003 {
            pool.perform(for: clients[1]) { order.withLock { $0.append(number) } }
        }
        gate.signal()
        try await pool.run { () throws(LarderError) in }
        while order.withLock({ $0.count }) < 203 { await Task.yield() }
        let seen = order.withLock { $0 }
        // Each in its order, and those of the modest client as soon as others have cost as much.
        #expect(seen.filter { $0 < 1_000 } == Array(0..<200))
        #expect(seen.filter { $0 >= 1_000 } == [1_000, 1_001, 1_002])
        #expect(seen.firstIndex(of: 1_000) ?? 99 < 2)
    }

    @Test("pools do not wait for each other, whatever their work needs of the processors")
    func independence() async throws {
        let pools = (0..<3).map { WorkPool("test \($0)", limit: 16) }
        let (isDone, running) = (AtomicFlag(), Awaited(0))
        for pool in pools.dropLast() {
            for _ in 0..<8 {
                pool.perform {
                    running.change { $0 += 1 }
                    while !isDone.isSet {}
                    running.change { $0 -= 1 }
                }
            }
        }
        try await pools[2].run { () throws(LarderError) in }
        isDone.set()
        await running.wait { $0 == 0 }
    }

    @Test("one client never occupies all threads")
    func share() async throws {
        let pool = WorkPool("test", limit: 4)
        let owner = Owner()
        let gate = DispatchSemaphore(value: 0)
        let begun = Awaited(0)
        for _ in 0..<10 {
            pool.perform(for: ObjectIdentifier(owner)) {
                begun.change { $0 += 1 }
                gate.wait()
            }
        }
        await begun.wait { $0 == 3 }
        // Another client is served while they wait.
        try await pool.run { () throws(LarderError) in }
        #expect(begun.value == 3)
        for _ in 0..<10 { gate.signal() }
        await begun.wait { $0 == 10 }
    }
}
