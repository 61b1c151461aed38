import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

@Suite("The stored part of a sync tree")
struct StoredTreeTests {
    private let cache = MemoryTreeCache()
    private let scores = TreePath("scores")

    private var dinosaurs: Node {
        get throws {
            try Node(
                parsing: """
                    {"bruhathkayosaurus":55,"lambeosaurus":21,"linhenykus":80,"pterodactyl":93,\
                    "stegosaurus":5,"triceratops":22}
                    """)
        }
    }

    private func last(_ count: Int) throws -> QuerySpec {
        QuerySpec(
            scores,
            try QueryBuilder().ordered(by: .value).limited(toLast: count).parameters)
    }

    private func events(
        _ tree: inout SyncTree, _ query: QuerySpec, _ id: UInt = 1
    ) throws -> (added: [String], value: Node?) {
        summary(try tree.listen(to: query, Listener(ListenerID(id), Set(TreeEventType.allCases))))
    }

    private func summary(_ events: [TreeEvent]) -> (added: [String], value: Node?) {
        var added: [String] = []
        var value: Node?
        for event in events {
            switch event.change {
            case .child(.childAdded, let child, _): added.append(child.key.text)
            case .value(let node): value = node
            default: added.append("unexpected")
            }
        }
        return (added, value)
    }

    /// Caches the four best scores, online.
    private func cacheFour() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, try last(4))
        _ = tree.serverOverwrite(
            scores, try last(4).parameters.filtered(try dinosaurs), tag: 1)
        _ = tree.listenCompleted(scores, tag: 1)
    }

    // MARK: Dinosaurs

    @Test("of four cached children a smaller window has two, and no value")
    func two() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        let first = try events(&tree, try last(2))
        #expect(first.added == ["linhenykus", "pterodactyl"])
        #expect(first.value == nil)
        // Online, the server's hash of the window is that of the two: only the value is missing.
        let hash = tree.hashes(of: try last(2)).hash
        let window = try last(2).parameters.filtered(try dinosaurs)
        #expect(hash == window.hash)
        let completed = summary(tree.listenCompleted(scores, tag: 1))
        #expect(completed.added.isEmpty && completed.value == window)
    }

    @Test("the same window is complete offline")
    func four() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        let first = try events(&tree, try last(4))
        #expect(first.added == ["triceratops", "bruhathkayosaurus", "linhenykus", "pterodactyl"])
        #expect(first.value?.childCount == 4)
    }

    @Test("a larger window has the four now, the rest and the value online")
    func six() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        let first = try events(&tree, try last(6))
        #expect(first.added.count == 4 && first.value == nil)
        let answer = summary(tree.serverOverwrite(scores, try dinosaurs, tag: 1))
        #expect(answer.added == ["stegosaurus", "lambeosaurus"])
        #expect(answer.value == (try dinosaurs))
    }

    @Test("a window of a location that is cached as a whole is read alone, and is complete")
    func windowOfWhole() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        var again = SyncTree(cache.start())
        let first = try events(&again, try last(2))
        #expect(first.added == ["linhenykus", "pterodactyl"] && first.value?.childCount == 2)
    }

    @Test("a window of a location that is cached as a whole is refilled from the cache")
    func refill() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        var again = SyncTree(cache.start())
        _ = try events(&again, try last(2))
        for (child, follower) in [
            ("linhenykus", "bruhathkayosaurus"), ("pterodactyl", "triceratops"),
            ("triceratops", "lambeosaurus"), ("bruhathkayosaurus", "stegosaurus"),
        ] {
            let write = PendingWrite(
                again.newWriteID(), at: scores.child(ChildKey(child)), .overwrite(.empty))
            let raised = again.write(write, at: 0)
            #expect(raised.count == 3)
            guard case .child(.childAdded, let added, _) = raised[1].change else {
                Issue.record("no child after \(child)")
                return
            }
            #expect(added.key.text == follower)
        }
        // After another restart the pending writes are there from the start.
        var third = SyncTree(cache.start())
        for write in cache.writes.values.sorted(by: { $0.id < $1.id }) {
            third.restore(write, at: 0)
        }
        #expect(try events(&third, try last(2)).added == ["stegosaurus", "lambeosaurus"])
    }

    @Test("a default listener over partly cached children has those, without a value")
    func partly() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(TreePath("a/x")), 1)
        _ = try events(&tree, QuerySpec(TreePath("a/y")), 2)
        _ = tree.serverOverwrite(TreePath("a/x"), Node(.integer(1)))
        _ = tree.serverOverwrite(TreePath("a/y"), Node(.integer(2)))
        var again = SyncTree(cache.start())
        let first = try events(&again, QuerySpec(TreePath("a")))
        #expect(first.added == ["x", "y"] && first.value == nil)
    }

    @Test("a child that left the window and came back is cached again")
    func windowKeys() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        _ = try events(&tree, try last(4))
        _ = tree.listenCompleted(scores, tag: 1)
        _ = tree.serverMerge(
            scores,
            [
                PathValue(TreePath("trex"), Node(.integer(99))),
                PathValue(TreePath("triceratops"), .empty),
            ], tag: 1)
        let id = try #require(tree.stored?.tracked[try last(4)]?.id)
        #expect(
            cache.keys[id]?.map(\.text).sorted()
                == ["bruhathkayosaurus", "linhenykus", "pterodactyl", "trex"])
        #expect(!cache.content.child(ChildKey("scores")).hasChild(ChildKey("triceratops")))
        var again = SyncTree(cache.start())
        #expect(try events(&again, try last(4)).value?.childCount == 4)
    }

    @Test(
        "a window follows the changes of its location, with listeners of its own and without",
        arguments: [false, true])
    func windowOfChangedLocation(isListenedTo: Bool) throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        if isListenedTo { _ = try events(&tree, try last(4), 1) }
        _ = try events(&tree, QuerySpec(scores), 2)
        _ = tree.serverOverwrite(scores, try dinosaurs)
        _ = tree.listenCompleted(scores)
        _ = tree.serverOverwrite(scores.child(ChildKey("trex")), Node(.integer(99)))
        var again = SyncTree(cache.start())
        let window = try #require(try events(&again, try last(4)).value)
        #expect(
            window.children.map(\.key.text).sorted()
                == ["bruhathkayosaurus", "linhenykus", "pterodactyl", "trex"])
    }

    @Test("a window of a cached location has the accepted writes of its own client")
    func windowAfterWrite() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        _ = tree.listenCompleted(scores)
        tree.stopListening(to: QuerySpec(scores))
        try cacheFour()
        var writing = SyncTree(cache.start())
        let trex = scores.child(ChildKey("trex"))
        _ = writing.write(
            PendingWrite(writing.newWriteID(), at: trex, .overwrite(Node(.integer(99)))), at: 0)
        _ = writing.acknowledge(WriteID(1))
        var again = SyncTree(cache.start())
        #expect(try events(&again, try last(4)).value?.hasChild(ChildKey("trex")) == true)
    }

    @Test("a child of a cached window is complete, one beside the window is not known")
    func childOfWindow() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        let linhenykus = QuerySpec(scores.child(ChildKey("linhenykus")))
        let value = try #require(try tree.storedValue(of: linhenykus))
        #expect(value.isComplete && value.node == Node(.integer(80)))
        #expect(try events(&tree, linhenykus).value == Node(.integer(80)))
        let stegosaurus = QuerySpec(scores.child(ChildKey("stegosaurus")))
        #expect(try tree.storedValue(of: stegosaurus) == nil)
    }

    @Test("a window that is listened to keeps its keys when a location below it changes")
    func windowWithListener() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        tree.stopListening(to: QuerySpec(scores))
        try cacheFour()
        var second = SyncTree(cache.start())
        _ = try events(&second, try last(4), 1)
        _ = second.listenCompleted(scores, tag: 1)
        let stegosaurus = scores.child(ChildKey("stegosaurus"))
        _ = try events(&second, QuerySpec(stegosaurus), 2)
        _ = second.serverOverwrite(stegosaurus, Node(.integer(6)))
        let query = try #require(second.stored?.tracked[try last(4)])
        #expect(query.isComplete && cache.keys[query.id]?.count == 4)
    }

    @Test("a child that left one window stays cached for another query that has it")
    func sharedRows() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, try last(4), 1)
        _ = try events(&tree, try last(2), 2)
        _ = tree.serverOverwrite(
            scores, try last(4).parameters.filtered(try dinosaurs), tag: 1)
        _ = tree.serverOverwrite(
            scores, try last(2).parameters.filtered(try dinosaurs), tag: 2)
        _ = tree.serverMerge(scores, [PathValue(TreePath("linhenykus"), .empty)], tag: 2)
        #expect(cache.content.child(ChildKey("scores")).hasChild(ChildKey("linhenykus")))
    }

    // MARK: Queries

    @Test("tracked queries are active while they are listened to, and inactive after a restart")
    func lifecycle() throws {
        var tree = SyncTree(cache.start())
        tree.now = 10
        _ = try events(&tree, QuerySpec(scores))
        #expect(tree.stored?.tracked[QuerySpec(scores)]?.isActive == true)
        #expect(tree.stored?.tracked.isComplete(QuerySpec(scores)) == false)
        _ = tree.serverOverwrite(scores, try dinosaurs)
        #expect(tree.stored?.tracked.isComplete(QuerySpec(TreePath("scores/x"))) == true)
        tree.now = 20
        tree.stopListening(to: QuerySpec(scores))
        let stopped = try #require(tree.stored?.tracked[QuerySpec(scores)])
        #expect(!stopped.isActive && stopped.lastUse == 20 && stopped.isComplete)

        _ = try events(&tree, QuerySpec(scores))
        let again = cache.start(at: 99)
        let restored = try #require(again.tracked[QuerySpec(scores)])
        #expect(!restored.isActive && restored.lastUse == 99 && restored.isComplete)
        #expect(cache.queries.count == 1)
    }

    @Test("an order alone is tracked and listened to as the plain location")
    func orders() throws {
        var tree = SyncTree(cache.start())
        let ordered = QuerySpec(scores, try QueryBuilder().ordered(by: .value).parameters)
        _ = try events(&tree, ordered, 1)
        #expect(tree.takeListenEffects() == [.listen(QuerySpec(scores), tag: nil)])
        _ = try events(&tree, QuerySpec(scores), 2)
        #expect(tree.takeListenEffects().isEmpty)
        tree.stopListening(to: ordered, ListenerID(1))
        #expect(tree.stored?.tracked[QuerySpec(scores)]?.isActive == true)
        #expect(tree.takeListenEffects().isEmpty)
        tree.stopListening(to: QuerySpec(scores), ListenerID(2))
        #expect(tree.takeListenEffects() == [.unlisten(QuerySpec(scores), tag: nil)])
        #expect(tree.stored?.tracked[QuerySpec(scores)]?.isActive == false)
    }

    @Test("keepSynced is idempotent, survives the removal of listeners, and covers children")
    func keepSynced() throws {
        var tree = SyncTree(cache.start())
        try tree.hold(QuerySpec(scores), for: .keepSynced)
        try tree.hold(QuerySpec(scores), for: .keepSynced)
        #expect(tree.takeListenEffects() == [.listen(QuerySpec(scores), tag: nil)])
        _ = try events(&tree, QuerySpec(scores), 1)
        tree.stopListening(to: QuerySpec(scores))
        try tree.hold(QuerySpec(TreePath("scores/x")), for: .keepSynced)
        #expect(tree.takeListenEffects().isEmpty)
        #expect(tree.stored?.tracked.isLocationActive(TreePath("scores/x")) == true)
        tree.release(QuerySpec(scores), for: .keepSynced)
        #expect(
            tree.takeListenEffects() == [
                .listen(QuerySpec(TreePath("scores/x")), tag: nil),
                .unlisten(QuerySpec(scores), tag: nil),
            ])
    }

    @Test("an evicted query is unknown, also below")
    func eviction() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        tree.stopListening(to: QuerySpec(scores))
        cache.evict(QuerySpec(scores))
        tree.evicted(QuerySpec(scores))
        #expect(try events(&tree, QuerySpec(scores)).added.isEmpty)
        #expect(tree.stored?.tracked[QuerySpec(scores)]?.isComplete == false)
    }

    // MARK: Writes

    @Test("writes are stored with server values, and resolved against the cache after a restart")
    func restoredIncrement() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        let increment = Node(.deferred(.increment(LeafNumber(2 as Int64))))
        for _ in 0..<2 {
            _ = tree.write(
                PendingWrite(
                    tree.newWriteID(), at: TreePath("scores/stegosaurus"), .overwrite(increment)),
                at: 0)
        }
        #expect(cache.writes.values.allSatisfy { $0.values.allSatisfy { $0.node == increment } })

        var again = SyncTree(cache.start())
        for write in cache.writes.values.sorted(by: { $0.id < $1.id }) {
            again.restore(write, at: 0)
        }
        let value = try events(&again, QuerySpec(TreePath("scores/stegosaurus"))).value
        #expect(value == Node(.integer(9)))
        #expect(again.newWriteID() == WriteID(3))
    }

    @Test("an accepted write without a listener is cached as complete, a guess as incomplete")
    func acceptedWrites() throws {
        var tree = SyncTree(cache.start())
        _ = tree.write(
            PendingWrite(tree.newWriteID(), at: TreePath("a"), .overwrite(Node(.integer(1)))), at: 0
        )
        _ = tree.acknowledge(WriteID(1))
        _ = tree.write(
            PendingWrite(
                tree.newWriteID(), at: TreePath("b"), .overwrite(Node(.deferred(.timestamp)))),
            at: 77)
        _ = tree.acknowledge(WriteID(2))
        #expect(cache.writes.isEmpty)
        var again = SyncTree(cache.start())
        #expect(try events(&again, QuerySpec(TreePath("a")), 1).value == Node(.integer(1)))
        #expect(try events(&again, QuerySpec(TreePath("b")), 2).value == nil)
        #expect(cache.content.child(ChildKey("b")) == Node(.integer(77)))
    }

    @Test("what is refused or purged leaves the cache as it was")
    func refusedWrites() throws {
        var tree = SyncTree(cache.start())
        for path in ["a", "b", "c"] {
            _ = tree.write(
                PendingWrite(tree.newWriteID(), at: TreePath(path), .overwrite(Node(.integer(1)))),
                at: 0)
        }
        _ = tree.revert(WriteID(1))
        #expect(cache.writes.count == 2)
        _ = tree.revertAllWrites()
        #expect(cache.writes.isEmpty && cache.content.isEmpty && cache.queries.isEmpty)
    }

    // MARK: Gets

    @Test("a get of a window is no overwrite of its location")
    func windowGet() throws {
        cache.record(.overwrite(scores, try dinosaurs))
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(TreePath("scores/stegosaurus")))
        tree.getBegan(try last(2))
        let window = try last(2).parameters.filtered(try dinosaurs)
        let result = tree.receive(window, of: try last(2))
        tree.getEnded(try last(2))
        #expect(result.node == window && result.events.isEmpty)
        #expect(cache.content.child(ChildKey("scores")).childCount == 6)
        #expect(tree.stored?.tracked.isComplete(QuerySpec(scores)) == false)
        #expect(try tree.storedValue(of: try last(2))?.isComplete == true)
        #expect(tree.stored?.tracked[try last(2)]?.isActive == false)
    }

    @Test("a get has the data of its own location, not that of a listener above")
    func getBelowListener() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        #expect(tree.value(of: QuerySpec(TreePath("scores/lambeosaurus"))) == Node(.integer(21)))
        #expect(tree.value(of: QuerySpec(.root)) == nil)
        #expect(tree.value(of: try last(1))?.childCount == 1)
    }

    @Test("a get has pending writes, and the listeners of its data the news")
    func getWithListeners() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.write(
            PendingWrite(
                tree.newWriteID(), at: TreePath("scores/trex"), .overwrite(Node(.integer(1)))),
            at: 0)
        let result = tree.receive(try dinosaurs, of: QuerySpec(scores))
        #expect(result.node.childCount == 7)
        #expect(summary(result.events).added.count == 6)
    }

    @Test("a get of a window has the server's answer, not the older data of a listener")
    func windowGetWithListener() throws {
        var tree = SyncTree(cache.start())
        _ = try events(&tree, QuerySpec(scores))
        _ = tree.serverOverwrite(scores, try dinosaurs)
        tree.connectionLost()
        let window = try Node(parsing: #"{"trex":1000}"#)
        #expect(tree.receive(window, of: try last(1)).node == window)
    }

    @Test("an error of the cache leaves the tree as it was")
    func errors() throws {
        try cacheFour()
        var tree = SyncTree(cache.start())
        cache.error = LarderError(realtime: .dataLoss, "damaged")
        #expect(throws: LarderError.self) { _ = try events(&tree, try last(4)) }
        #expect(tree.takeListenEffects().isEmpty)
        cache.error = nil
        #expect(try events(&tree, try last(4)).value?.childCount == 4)
    }
}
