import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

@Suite("Listening to a sync tree")
struct SyncTreeListeningTests {
    private func listener(_ id: UInt, _ types: Set<TreeEventType> = [.value]) -> Listener {
        Listener(ListenerID(id), types)
    }

    private func plain(_ path: String) -> QuerySpec { QuerySpec(TreePath(path)) }

    private func first(_ count: Int, _ path: String) throws -> QuerySpec {
        QuerySpec(TreePath(path), try QueryBuilder().limited(toFirst: count).parameters)
    }

    private func node(_ text: String) throws -> Node { try Node(parsing: text) }

    // MARK: Listens

    @Test("a plain listen replaces those at and below its location, and begins before they end")
    func shadowing() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(1, "a"), listener(1))
        _ = try tree.listen(to: plain("a/b"), listener(2))
        _ = try tree.listen(to: try first(2, "a/b/c"), listener(3))
        _ = try tree.listen(to: try first(2, "a/d"), listener(4))
        #expect(
            tree.takeListenEffects() == [
                .listen(try first(1, "a"), tag: 1), .listen(plain("a/b"), tag: nil),
                .listen(try first(2, "a/d"), tag: 3),
            ])
        _ = try tree.listen(to: plain("a"), listener(5))
        #expect(
            tree.takeListenEffects() == [
                .listen(plain("a"), tag: nil), .unlisten(try first(1, "a"), tag: 1),
                .unlisten(plain("a/b"), tag: nil), .unlisten(try first(2, "a/d"), tag: 3),
            ])
        tree.stopListening(to: plain("a"), ListenerID(5))
        #expect(
            tree.takeListenEffects() == [
                .listen(try first(1, "a"), tag: 1), .listen(plain("a/b"), tag: nil),
                .listen(try first(2, "a/d"), tag: 3), .unlisten(plain("a"), tag: nil),
            ])
    }

    @Test("a listener below a plain one needs no listen, and has its data at once")
    func covered() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: plain("a"), listener(1))
        _ = tree.serverOverwrite(TreePath("a"), try node(#"{"b":{"x":1,"y":2}}"#))
        _ = tree.takeListenEffects()
        let events = try tree.listen(to: try first(1, "a/b"), listener(2))
        #expect(values(events) == [try node(#"{"x":1}"#)])
        #expect(tree.takeListenEffects().isEmpty)
        let changes = tree.serverOverwrite(TreePath("a/b/x"), .empty)
        #expect(values(changes) == [try node(#"{"y":2}"#), try node(#"{"b":{"y":2}}"#)])
    }

    @Test("tags are given to filtered queries, and forgotten with them")
    func tags() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(1, "a"), listener(1))
        tree.stopListening(to: try first(1, "a"))
        _ = try tree.listen(to: try first(1, "a"), listener(2))
        #expect(
            tree.takeListenEffects() == [
                .listen(try first(1, "a"), tag: 1), .unlisten(try first(1, "a"), tag: 1),
                .listen(try first(1, "a"), tag: 2),
            ])
        #expect(tree.serverOverwrite(TreePath("a"), try node(#"{"x":1}"#), tag: 1).isEmpty)
        #expect(
            values(tree.serverOverwrite(TreePath("a"), try node(#"{"x":1}"#), tag: 2)).count == 1)
    }

    @Test("listeners of one query share a listen, which ends with the last of them")
    func sharedListen() throws {
        var tree = SyncTree()
        for id in 1...3 { _ = try tree.listen(to: plain("a"), listener(UInt(id))) }
        tree.stopListening(to: plain("a"), ListenerID(2))
        tree.stopListening(to: plain("a"), ListenerID(9))
        #expect(tree.takeListenEffects() == [.listen(plain("a"), tag: nil)])
        let events = tree.serverOverwrite(TreePath("a"), Node(.integer(1)))
        #expect(events.map(\.listener) == [ListenerID(1), ListenerID(3)])
        tree.stopListening(to: plain("a"))
        #expect(tree.takeListenEffects() == [.unlisten(plain("a"), tag: nil)])
    }

    @Test("a plain location removes a listener from whichever of its queries has it")
    func removalThroughReference() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(1, "a"), listener(1))
        _ = try tree.listen(to: try first(2, "a"), listener(2))
        tree.stopListening(to: try first(2, "a"), ListenerID(1))
        _ = tree.takeListenEffects()
        tree.stopListening(to: plain("a"), ListenerID(1))
        #expect(tree.takeListenEffects() == [.unlisten(try first(1, "a"), tag: 1)])
        tree.stopListening(to: plain("a"))
        #expect(tree.takeListenEffects() == [.unlisten(try first(2, "a"), tag: 2)])
    }

    @Test("a refused plain listen ends all queries of its location, a refused query itself only")
    func cancelling() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(1, "a"), listener(1))
        _ = try tree.listen(to: try first(2, "a"), listener(2))
        _ = try tree.listen(to: plain("a/b"), listener(3))
        let error = LarderError(realtime: .permissionDenied, "Permission denied")
        #expect(tree.cancel(try first(1, "a"), error).map(\.listener) == [ListenerID(1)])
        _ = try tree.listen(to: plain("a"), listener(4))
        _ = tree.takeListenEffects()
        #expect(
            Set(tree.cancel(plain("a"), error).map(\.listener)) == [ListenerID(2), ListenerID(4)])
        #expect(tree.takeListenEffects() == [.listen(plain("a/b"), tag: nil)])
        #expect(tree.cancel(plain("a"), error).isEmpty)
        // It may be listened to again.
        try tree.hold(plain("a"), for: .keepSynced)
        #expect(tree.takeListenEffects().first == .listen(plain("a"), tag: nil))
    }

    @Test("an answered listen completes an unchanged or empty location")
    func completion() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: plain("a"), listener(1))
        #expect(tree.hashes(of: plain("a")).hash == "")
        let events = tree.listenCompleted(TreePath("a"))
        #expect(values(events) == [.empty])
        #expect(tree.listenCompleted(TreePath("a")).isEmpty)
        #expect(tree.value(of: plain("a/b")) == .empty)
    }

    @Test("the ranges that the hashes of a large location differ in are merged into it")
    func rangeMerge() throws {
        var tree = SyncTree()
        let old = Node(
            children: (0..<400).map { Child(ChildKey("k\($0)"), Node(.string("value \($0)"))) })
        _ = try tree.listen(to: plain("a"), listener(1, [.value, .childAdded, .childChanged]))
        _ = tree.serverOverwrite(TreePath("a"), old)
        let hashes = tree.hashes(of: plain("a"))
        let compound = try #require(hashes.compound)
        let new = old.setting(TreePath("k7"), to: Node(.integer(1)))
            .setting(TreePath("new"), to: Node(.integer(2)))
        let merges = compound.rangeMerges(to: new)
        #expect(merges.count == 2)
        let events = tree.serverRangeMerge(TreePath("a"), merges)
        #expect(events.count == 3)
        #expect(tree.value(of: plain("a")) == new)
    }

    // MARK: Events

    @Test("events come deepest location first, by type, and in the order of the listeners")
    func eventOrder() throws {
        var tree = SyncTree()
        let all = Set(TreeEventType.allCases)
        _ = try tree.listen(to: plain("a"), listener(1, all))
        _ = try tree.listen(to: plain("a"), listener(2, all))
        _ = try tree.listen(to: plain("a/b"), listener(3))
        _ = tree.serverOverwrite(TreePath("a"), try node(#"{"b":1,"c":2,"d":3}"#))
        let events = tree.serverOverwrite(
            TreePath("a"), try node(#"{"a":1,"b":5,"d":{".value":3,".priority":1}}"#))
        let text = events.map { event -> String in
            switch event.change {
            case .value: "\(event.listener.rawValue) value"
            case .child(let type, let child, let previous):
                "\(event.listener.rawValue) \(type) \(child.key) after \(previous?.text ?? "-")"
            case .cancelled: "cancelled"
            }
        }
        #expect(
            text == [
                "3 value", "1 childRemoved c after -", "2 childRemoved c after -",
                "1 childAdded a after -", "2 childAdded a after -", "1 childMoved d after b",
                "2 childMoved d after b", "1 childChanged b after a", "2 childChanged b after a",
                "1 childChanged d after b", "2 childChanged d after b", "1 value", "2 value",
            ])
    }

    @Test("metadata tell cached, unconfirmed and incomplete data apart")
    func metadata() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: plain("a"), listener(1, [.value, .childAdded]))
        func last(_ events: [TreeEvent]) -> TreeEventMetadata? { events.last?.metadata }
        let write = PendingWrite(
            tree.newWriteID(), at: TreePath("a/b"), .overwrite(Node(.integer(1))))
        #expect(
            last(tree.write(write, at: 0))
                == TreeEventMetadata(isComplete: false, hasPendingWrites: true, isFromCache: true))
        #expect(
            last(tree.serverOverwrite(TreePath("a"), .empty))
                == TreeEventMetadata(isComplete: true, hasPendingWrites: true, isFromCache: true))
        _ = tree.listenCompleted(TreePath("a"))
        _ = tree.serverOverwrite(TreePath("a/b"), Node(.integer(1)))
        _ = tree.acknowledge(write.id)
        #expect(
            last(tree.serverOverwrite(TreePath("a/c"), Node(.integer(2))))
                == TreeEventMetadata(isComplete: true, hasPendingWrites: false, isFromCache: false))
        tree.connectionLost()
        #expect(
            last(try tree.listen(to: plain("a"), listener(2)))
                == TreeEventMetadata(isComplete: true, hasPendingWrites: false, isFromCache: true))
    }

    // MARK: .info

    @Test("a listener of .info has its value at once, or waits for the first")
    func info() throws {
        var info = InfoTree()
        let connected = plain(".info/connected")
        #expect(info.set(TreePath("connected"), to: Node(.boolean(false))).isEmpty)
        #expect(values(try info.listen(to: connected, listener(1))) == [Node(.boolean(false))])
        #expect(values(try info.listen(to: plain(".info/serverTimeOffset"), listener(2))).isEmpty)
        #expect(
            values(info.set(TreePath("serverTimeOffset"), to: Node(.integer(7))))
                == [Node(.integer(7))])
        #expect(values(info.set(TreePath("connected"), to: Node(.boolean(false)))).isEmpty)
        #expect(
            values(info.set(TreePath("connected"), to: Node(.boolean(true))))
                == [Node(.boolean(true))])
        info.stopListening(to: connected)
        #expect(info.set(TreePath("connected"), to: Node(.boolean(false))).isEmpty)
        #expect(info.value(of: connected) == Node(.boolean(false)))
    }

    private func values(_ events: [TreeEvent]) -> [Node] {
        events.compactMap { event in
            guard case .value(let node) = event.change else { return nil }
            return node
        }
    }
}
