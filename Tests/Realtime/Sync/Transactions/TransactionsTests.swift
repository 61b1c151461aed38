import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

@Suite("Transactions of the Realtime Database")
struct TransactionsTests {
    private func number(_ number: Int64) -> Node { Node(.integer(number)) }

    @Test("the output is shown at once, and committed when the server has it")
    func commit() throws {
        var world = TransactionWorld()
        let id = try world.increment("n")
        #expect(world.inputs == [.empty])
        #expect(world.shown("n") == number(1))
        #expect(world.puts.first?.hash == "")
        world.answer()
        #expect(world.committed(id) == number(1))
        #expect(world.server.child(ChildKey("n")) == number(1))
        #expect(world.saved.isEmpty && world.transactions.count == 0)
    }

    @Test("the first run sees data that is known")
    func knownData() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        try world.listen("n")
        world.send("n")
        try world.increment("n")
        #expect(world.inputs == [number(5)])
        #expect(world.puts.first?.hash == number(5).hash)
    }

    @Test("stale data runs the update again, on what the server has sent")
    func stale() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        let id = try world.increment("n")
        world.answer()
        #expect(world.outcomes.isEmpty)
        #expect(world.inputs == [.empty, number(5)])
        #expect(world.shown("n") == number(6))
        world.answer()
        #expect(world.committed(id) == number(6))
    }

    @Test("a second transaction runs on the output of the first, and once only")
    func chain() throws {
        var world = TransactionWorld()
        let first = try world.increment("n")
        let second = try world.increment("n")
        #expect(world.inputs == [.empty, number(1)])
        #expect(world.puts.count == 1)
        #expect(world.shown("n") == number(2))
        world.answer()
        #expect(world.committed(first) == number(1))
        world.answer()
        #expect(world.committed(second) == number(2))
        #expect(world.inputs.count == 2)
    }

    @Test("transactions that are ready together are sent in one put")
    func onePut() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"a":{"x":5}}"#)
        try world.increment("a/x")
        let later = try [world.increment("a/x"), world.increment("a/y"), world.increment("a/x")]
        // The first is stale: all of a/x run again, and go out together.
        world.answer()
        #expect(world.shown("a/x") == number(8))
        world.answer()
        world.answer()
        #expect(world.committed(later[0]) == number(7))
        #expect(world.committed(later[2]) == number(8))
        #expect(world.server == (try Node(parsing: #"{"a":{"x":8,"y":1}}"#)))
    }

    @Test("transactions of a parent and of its children are sent as one")
    func parentAndChild() throws {
        var world = TransactionWorld()
        try world.listen("a")
        world.send("a")
        let child = try world.increment("a/x")
        let parent = try world.start("a") {
            .output($0.setting(TreePath("y"), to: Node(.integer(9))))
        }
        let other = try world.increment("a/x")
        #expect(world.inputs == [.empty, try Node(parsing: #"{"x":1}"#), number(1)])
        #expect(world.puts.count == 1)
        world.answer()
        #expect(world.committed(child) == number(1))
        #expect(world.puts.map(\.path) == [TreePath("a")])
        world.answer()
        #expect(world.committed(parent) == (try Node(parsing: #"{"x":1,"y":9}"#)))
        #expect(world.committed(other) == number(2))
        #expect(world.server == (try Node(parsing: #"{"a":{"x":2,"y":9}}"#)))
    }

    @Test("an update that returns nothing ends the transaction without a write")
    func abort() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        try world.listen("n")
        world.send("n")
        let id = try world.start("n") { _ in .abort }
        guard case .aborted(let node) = world.outcomes[id] else {
            Issue.record("not aborted")
            return
        }
        #expect(node == number(5))
        #expect(world.puts.isEmpty && world.tree.writes.count == 0)
    }

    @Test(
        "a set ends transactions at its path, above and below, and one that was sent if the server refuses it"
    )
    func overriding() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"a":{"x":5},"b":1}"#)
        let sent = try world.increment("a/x")
        let waiting = try world.increment("a/x")
        let elsewhere = try world.increment("b")
        world.set("a", number(0))
        #expect(world.failure(waiting) != nil)
        #expect(world.outcomes[sent] == nil)
        #expect(world.outcomes[elsewhere] == nil)
        world.answer()
        #expect(world.failure(sent) != nil)
        #expect(world.shown("a") == number(0))
    }

    @Test("a transaction that was sent before a set counts as committed if the server accepts it")
    func overriddenButAccepted() throws {
        var world = TransactionWorld()
        let id = try world.increment("n")
        world.set("n", number(0))
        world.answer()
        #expect(world.committed(id) == number(1))
        #expect(world.shown("n") == number(0))
    }

    @Test("an update of a sibling leaves a transaction alone")
    func sibling() throws {
        var world = TransactionWorld()
        let id = try world.increment("a/x")
        world.set("a/y", number(3))
        world.answer()
        #expect(world.committed(id) == number(1))
    }

    @Test("after 25 attempts a transaction fails")
    func retries() throws {
        var world = TransactionWorld()
        let id = try world.increment("n")
        var count = 0
        while world.outcomes.isEmpty, count < 100 {
            count += 1
            world.server = world.server.setting(TreePath("n"), to: number(Int64(100 * count)))
            world.answer()
        }
        #expect(count == 25)
        #expect(world.failure(id)?.kind == .aborted)
        #expect(world.tree.writes.count == 0)
    }

    @Test("without local events listeners see the server's data only")
    func hidden() throws {
        var world = TransactionWorld()
        try world.listen("n")
        world.send("n")
        let id = try world.increment("n", isVisible: false)
        let second = try world.increment("n", isVisible: false)
        #expect(world.inputs == [.empty, number(1)])
        #expect(world.trace == ["value null"])
        world.answer()
        world.answer()
        #expect(world.committed(id) != nil && world.committed(second) != nil)
        #expect(world.trace == ["value null", "value 1", "complete 1", "value 2", "complete 2"])
    }

    @Test("events of the server's answer come before the completion")
    func order() throws {
        var world = TransactionWorld()
        try world.listen("n")
        world.send("n")
        try world.start("n") { _ in .output(Node(.deferred(.increment(LeafNumber(2 as Int64))))) }
        let put = try #require(world.puts.first)
        world.server = try Node(parsing: #"{"n":7}"#)
        _ = world.tree.serverOverwrite(TreePath("n"), number(7))
        world.answer(put, .accepted)
        #expect(world.trace == ["value null", "value 2", "value 7", "complete 1"])
    }

    @Test("all updates of a rerun are shown, none without the one before")
    func rerunEvents() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":10}"#)
        try world.listen("n")
        try world.increment("n")
        try world.increment("n")
        world.answer()
        #expect(
            world.trace == ["value 1", "value 2", "value 11", "value 12"])
    }

    @Test(
        "an error of the server ends the transactions of the put, and their writes are taken back")
    func refusal() throws {
        var world = TransactionWorld()
        try world.listen("n")
        world.send("n")
        let id = try world.increment("n")
        world.refuse(LarderError(realtime: .permissionDenied, "no"))
        #expect(world.failure(id)?.kind == .permissionDenied)
        #expect(world.shown("n") == .empty)
        #expect(world.trace == ["value null", "value 1", "value null", "complete 1"])
    }

    @Test("the base has a pending update at deeper paths")
    func deepUpdate() throws {
        var world = TransactionWorld()
        _ = world.tree.write(
            PendingWrite(
                world.tree.newWriteID(), at: .root,
                .merge([PathValue(TreePath("a/b/c"), number(1))])), at: 0)
        try world.start("a/b") { .output($0) }
        #expect(world.inputs == [try Node(parsing: #"{"c":1}"#)])
    }

    @Test("a queue is purged with an error for each")
    func purge() throws {
        var world = TransactionWorld()
        let ids = try [world.increment("n"), world.increment("n"), world.increment("m")]
        _ = world.tree.revertAllWrites()
        world.transactions.cancelAll(LarderError(realtime: .cancelled, "purged"), &world.tree)
        world.perform()
        #expect(ids.allSatisfy { world.failure($0)?.kind == .cancelled })
        for put in world.puts { world.answer(put, .accepted) }
        #expect(world.transactions.count == 0)
    }

    @Test("keys with any characters and array-like data")
    func keys() throws {
        var world = TransactionWorld()
        let keys = ["0", "1", "\u{1F600}", "ключ", "-", "\u{ffff}"]
        let node = Node(children: keys.map { Child(ChildKey($0), number(1)) })
        let id = try world.start("list") { _ in .output(node) }
        world.answer()
        #expect(world.committed(id) == node)
        #expect(world.server.child(ChildKey("list")) == node)
    }
}

// MARK: - Updates that take their time

extension TransactionsTests {
    @Test("an update that returns after its data has changed is run again")
    func lateUpdate() throws {
        var world = TransactionWorld()
        try world.listen("n")
        world.send("n")
        var transactions = Transactions()
        var tree = world.tree
        try transactions.start(TransactionID(1), at: TreePath("n"), isVisible: true, &tree)
        #expect(transactions.takeEffects().count == 1)
        // A second one at the path waits for the output of the first; one elsewhere does not.
        try transactions.start(TransactionID(2), at: TreePath("n/x"), isVisible: true, &tree)
        #expect(transactions.takeEffects().isEmpty)
        try transactions.start(TransactionID(3), at: TreePath("m"), isVisible: true, &tree)
        #expect(transactions.takeEffects().count == 1)
        _ = tree.serverOverwrite(TreePath("n"), number(4))
        transactions.updated(TransactionID(1), .output(number(1)), &tree)
        guard case .run(let id, let input)? = transactions.takeEffects().last else {
            Issue.record("not run again")
            return
        }
        #expect(id == TransactionID(1) && input == number(4))
        transactions.updated(TransactionID(1), .output(number(5)), &tree)
        let puts = transactions.takeEffects().filter { if case .run = $0 { true } else { false } }
        #expect(puts.count == 1)
    }

    @Test("the result of a transaction that has ended is ignored")
    func lateResult() throws {
        var transactions = Transactions()
        var tree = SyncTree()
        try transactions.start(TransactionID(1), at: TreePath("n"), isVisible: true, &tree)
        transactions.override(at: .root, .overridden, &tree)
        transactions.updated(TransactionID(1), .output(number(1)), &tree)
        #expect(tree.writes.count == 0 && transactions.count == 0)
    }
}

// MARK: - After a restart

extension TransactionsTests {
    private func queue() throws -> [SavedTransaction] {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        try world.listen("n")
        world.send("n")
        try world.increment("n")
        try world.increment("n")
        return world.saved.values.sorted { $0.id < $1.id }
    }

    @Test("queued transactions are sent in order, each with the hash of its data")
    func restored() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        for transaction in try queue() { try world.restore(transaction) }
        #expect(world.shown("n") == number(7))
        #expect(world.puts.count == 1)
        world.answer()
        #expect(world.committed(TransactionID(1)) == number(6))
        world.answer()
        #expect(world.committed(TransactionID(2)) == number(7))
        #expect(world.inputs.isEmpty && world.saved.isEmpty)
    }

    @Test("a restored output has the number of its transaction among the pending writes")
    func restoredNumber() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":5}"#)
        try world.restore(
            SavedTransaction(
                TransactionID(7), at: TreePath("n"), baseHash: number(5).hash, output: number(6),
                isVisible: true))
        #expect(world.tree.writes[WriteID(7)]?.path == TreePath("n"))
        #expect(world.tree.newWriteID() == WriteID(8))
    }

    @Test("a stale one waits for its update, and is run again when the application gives it")
    func parked() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":8}"#)
        for transaction in try queue() { try world.restore(transaction) }
        world.answer()
        #expect(world.requested == [TransactionID(1)])
        #expect(world.outcomes.isEmpty)
        world.give(TransactionID(2)) { .output($0.plusOne) }
        world.give(TransactionID(1)) { .output($0.plusOne) }
        world.answer()
        world.answer()
        world.answer()
        #expect(world.committed(TransactionID(1)) == number(9))
        #expect(world.committed(TransactionID(2)) == number(10))
    }

    @Test("one that is abandoned is reported, and its output taken back")
    func abandoned() throws {
        var world = TransactionWorld()
        world.server = try Node(parsing: #"{"n":8}"#)
        try world.listen("n")
        for transaction in try queue() { try world.restore(transaction) }
        world.answer()
        for id in [TransactionID(1), TransactionID(2)] {
            world.transactions.abandon(
                id, LarderError(realtime: .failedPrecondition, "no update"), &world.tree)
            world.perform()
        }
        #expect(world.failure(TransactionID(1)) != nil && world.failure(TransactionID(2)) != nil)
        #expect(world.shown("n") == number(8))
    }
}
