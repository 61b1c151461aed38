import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import LarderStorage
import Synchronization
import Testing

/// Locks that call a closure once, before a look at another client.
private final class HookedLocks: ClientLocks {
    private let base: any ClientLocks
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ base: any ClientLocks) { self.base = base }

    func beforeLook(_ body: @escaping @Sendable () -> Void) {
        hook.withLock { $0 = body }
    }

    func acquire(_ number: Int64) -> Bool { base.acquire(number) }
    func release(_ number: Int64) { base.release(number) }
    func isHeldByOther(_ number: Int64) -> Bool {
        let body = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        body?()
        return base.isHeldByOther(number)
    }
}

@Suite("Several clients of a store: what happens within a turn of another")
struct SharedRaceTests {
    private let store: Store
    private let clock = ManualClock()
    private let signals = SignalHub()
    private let table = LockTable()

    init() throws { store = try Store(.inMemory()) }

    private func open(_ locks: any ClientLocks) throws -> EngineUnderTest {
        let sharing = StoreSharing(signal: signals, locks: locks)
        return try EngineUnderTest(.inMemory(), store: store, clock: clock) {
            $0.sharing = sharing
        }
    }

    @Test("A write that a client commits just before it dies is sent by its successor")
    func lastWrite() throws {
        let oneLocks = table.client()
        let twoLocks = HookedLocks(table.client())
        let (one, two) = (try open(oneLocks), try open(twoLocks))
        one.scheduler.drain()
        two.scheduler.drain()
        try two.connect(session: "s2")
        let (scheduler, client) = (one.scheduler, one.client)
        twoLocks.beforeLook {
            client.write(
                .overwrite(TreePath("a"), Node(.integer(1))), committed: { _ in },
                acknowledged: { _ in })
            scheduler.drain()
            oneLocks.releaseAll()
            scheduler.retire()
        }
        clock.advance(by: .seconds(5))
        two.scheduler.fireDue()
        two.scheduler.drain()
        clock.advance(by: .seconds(30))
        two.scheduler.fireDue()
        two.scheduler.drain()
        #expect(two.pending == ["/a=[\"1\"]"])
        let puts = try two.connection.read().map(\.request.text).filter { $0.hasPrefix("put") }
        #expect(puts == ["put /a 1"])
    }

    @Test("A transaction that a client sends just before it dies is not sent again")
    func lastTransaction() throws {
        let oneLocks = table.client()
        let twoLocks = HookedLocks(table.client())
        let (one, two) = (try open(oneLocks), try open(twoLocks))
        one.client.runTransaction(
            at: TreePath("a"), localEvents: true, { _ in Node(.integer(7)) }, completion: { _ in })
        settle(one, two)
        try two.connect(session: "s2")
        let scheduler = one.scheduler
        nonisolated(unsafe) let engine = one
        twoLocks.beforeLook {
            try? engine.connect(session: "s1")
            scheduler.drain()
            oneLocks.releaseAll()
            scheduler.retire()
        }
        clock.advance(by: .seconds(5))
        two.scheduler.fireDue()
        two.scheduler.drain()
        let sent = try one.connection.readText()
        #expect(sent.contains { $0.contains("put /a 7") }, "\(sent)")
        let puts = try two.connection.read().map(\.request.text).filter { $0.hasPrefix("put") }
        #expect(puts == [])
    }

    @Test("Writes of a client that has ended precede the later ones of its successor")
    func adoptionOrder() throws {
        let oneLocks = table.client()
        let (one, two) = (try open(oneLocks), try open(table.client()))
        two.set("b", 0, as: "before")
        settle(two, one)
        one.set("a", 1, as: "first")
        settle(one, two)
        two.client.arm(.put(TreePath("c"), Node(.integer(9)))) { _ in }
        two.set("a", 2, as: "second")
        settle(two, one)
        one.set("a", 3, as: "third")
        settle(one, two)
        two.set("a", 4, as: "fourth")
        settle(two, one)
        oneLocks.releaseAll()
        one.scheduler.retire()
        clock.advance(by: .seconds(5))
        two.scheduler.fireDue()
        try two.connect(session: "s2")
        let requests = try two.connection.read()
        #expect(
            requests.map(\.request.text) == [
                "put /b 0", "onDisconnect put /c 9", "put /a 1", "put /a 2", "put /a 3",
                "put /a 4",
            ])
        for request in requests { try two.connection.answer(request.number) }
        #expect(two.pending == [])
        #expect(two.read().filter { $0.hasSuffix("acknowledged") }.count == 3)
    }

    private func settle(_ engines: EngineUnderTest...) {
        for engine in engines { engine.scheduler.drain() }
    }
}
