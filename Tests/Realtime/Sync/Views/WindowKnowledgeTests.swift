import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

@Suite("Pending writes below children that a window lacks")
struct WindowKnowledgeTests {
    private let path = TreePath("a")

    /// A tree with a listener of a query whose window the server has sent.
    private func tree(
        _ parameters: QueryParameters, _ window: String, isCurrent: Bool = true
    ) throws -> SyncTree {
        var tree = SyncTree()
        let query = QuerySpec(path, parameters)
        _ = try tree.listen(to: query, Listener(ListenerID(1), [.value]))
        _ = tree.serverOverwrite(path, try Node(parsing: window), tag: 1)
        _ = tree.listenCompleted(path, tag: 1)
        if !isCurrent { tree.connectionLost() }
        return tree
    }

    private func write(_ path: String, _ node: Node, _ tree: inout SyncTree) -> PendingWrite {
        PendingWrite(tree.newWriteID(), at: TreePath(path), .overwrite(node))
    }

    /// The values that a write raises, with a mark on those that are incomplete.
    private func values(_ events: [TreeEvent]) -> [String] {
        events.compactMap { event in
            guard case .value(let node) = event.change else { return nil }
            return event.metadata.isComplete ? "\(node)" : "\(node) incomplete"
        }
    }

    private var one: Node { Node(.integer(1)) }

    // MARK: Known absence

    @Test("a window that is not full, without bounds, shows a child that a write creates")
    func notFull() throws {
        let builders = [
            try QueryBuilder().limited(toFirst: 3),
            try QueryBuilder().ordered(by: .key).limited(toLast: 3),
            try QueryBuilder().ordered(by: .value).limited(toLast: 3),
            try QueryBuilder().ordered(by: .child(TreePath("n"))).limited(toFirst: 3),
        ]
        for builder in builders {
            for isCurrent in [true, false] {
                var tree = try tree(
                    builder.parameters, #"{"x":{"n":5},"y":{"n":6}}"#, isCurrent: isCurrent)
                let deep = write("a/z/m", one, &tree)
                #expect(
                    values(tree.write(deep, at: 0))
                        == [#"{"x":{"n":5},"y":{"n":6},"z":{"m":1}}"#])
                #expect(values(tree.revert(deep.id)) == [#"{"x":{"n":5},"y":{"n":6}}"#])
            }
        }
    }

    @Test("a merge that creates several children in part shows each of them")
    func merge() throws {
        var tree = try tree(try QueryBuilder().limited(toFirst: 3).parameters, "null")
        let merge = PendingWrite(
            tree.newWriteID(), at: path,
            .merge([PathValue(TreePath("x/n"), one), PathValue(TreePath("y/n"), one)]))
        #expect(values(tree.write(merge, at: 0)) == [#"{"x":{"n":1},"y":{"n":1}}"#])
    }

    @Test("a range of keys shows the children that writes create in it, and none outside it")
    func keyRange() throws {
        let range = try QueryBuilder().ordered(by: .key).starting(at: .string("m"))
            .ending(at: .string("p"))
        var tree = try tree(range.parameters, #"{"n":{"b":2}}"#)
        #expect(
            values(tree.write(write("a/o/c", one, &tree), at: 0)) == [
                #"{"n":{"b":2},"o":{"c":1}}"#
            ])
        #expect(tree.write(write("a/z/c", one, &tree), at: 0).isEmpty)
        #expect(
            values(tree.write(write("a/m/c", one, &tree), at: 0)) == [
                #"{"m":{"c":1},"n":{"b":2},"o":{"c":1}}"#
            ])
    }

    @Test("a full window in the order of keys knows what is absent before its last child")
    func fullKeys() throws {
        let first = try QueryBuilder().ordered(by: .key).limited(toFirst: 2).parameters
        var tree = try tree(first, #"{"m":{"b":1},"p":{"b":1}}"#)
        #expect(tree.write(write("a/z/c", one, &tree), at: 0).isEmpty)
        #expect(
            values(tree.write(write("a/n/c", one, &tree), at: 0)) == [
                #"{"m":{"b":1},"n":{"c":1}}"#
            ])
        let last = try QueryBuilder().ordered(by: .key).limited(toLast: 2).parameters
        var other = try self.tree(last, #"{"m":{"b":1},"p":{"b":1}}"#)
        #expect(other.write(write("a/b/c", one, &other), at: 0).isEmpty)
        #expect(
            values(other.write(write("a/z/c", one, &other), at: 0)) == [
                #"{"p":{"b":1},"z":{"c":1}}"#
            ])
    }

    @Test("a created child stays when its listen is answered again, and once it is acknowledged")
    func reconnect() throws {
        var tree = try tree(
            try QueryBuilder().limited(toFirst: 3).parameters, #"{"x":{"n":1}}"#, isCurrent: false)
        let deep = write("a/z/m", one, &tree)
        _ = tree.write(deep, at: 0)
        #expect(tree.listenCompleted(path, tag: 1).isEmpty)
        let query = QuerySpec(path, try QueryBuilder().limited(toFirst: 3).parameters)
        let shown = tree.value(of: query).map { "\($0)" }
        #expect(shown == #"{"x":{"n":1},"z":{"m":1}}"#)
        _ = tree.serverOverwrite(TreePath("a/z"), try Node(parsing: #"{"m":1}"#), tag: 1)
        #expect(tree.acknowledge(deep.id).isEmpty)
    }

    @Test("a listener that begins after the write shows the created child")
    func laterListener() throws {
        let limited = try QueryBuilder().limited(toFirst: 3).parameters
        var tree = try tree(limited, #"{"x":{"n":1}}"#)
        _ = tree.write(write("a/z/m", one, &tree), at: 0)
        let events = try tree.listen(
            to: QuerySpec(path, limited), Listener(ListenerID(2), [.value]))
        #expect(values(events) == [#"{"x":{"n":1},"z":{"m":1}}"#])
    }

    // MARK: Unknown children

    @Test("a child that may be in the window with unknown content makes it incomplete")
    func uncertain() throws {
        let scores = try QueryBuilder().ordered(by: .child(TreePath("n"))).starting(at: .integer(5))
        var tree = try tree(scores.parameters, #"{"x":{"n":5,"o":1}}"#)
        let deep = write("a/z/n", Node(.integer(7)), &tree)
        #expect(tree.write(deep, at: 0).isEmpty)
        #expect(
            values(tree.write(write("a/x/o", Node(.integer(2)), &tree), at: 0)) == [
                #"{"x":{"n":5,"o":2}} incomplete"#
            ])
        // The server sends the whole child before it accepts the write.
        _ = tree.serverOverwrite(
            TreePath("a/z"), try Node(parsing: #"{"n":7,"o":3}"#), tag: 1)
        _ = tree.acknowledge(deep.id)
        #expect(
            values(tree.write(write("a/x/o", Node(.integer(4)), &tree), at: 0)) == [
                #"{"x":{"n":5,"o":4},"z":{"n":7,"o":3}}"#
            ])
    }

    @Test("a write that cannot bring a child into the window leaves it complete")
    func outside() throws {
        let scores = try QueryBuilder().ordered(by: .child(TreePath("n"))).starting(at: .integer(5))
        var tree = try tree(scores.parameters, #"{"x":{"n":5,"o":1}}"#)
        #expect(tree.write(write("a/y/n", Node(.integer(3)), &tree), at: 0).isEmpty)
        #expect(tree.write(write("a/z/o", Node(.integer(7)), &tree), at: 0).isEmpty)
        #expect(
            values(tree.write(write("a/x/o", Node(.integer(2)), &tree), at: 0)) == [
                #"{"x":{"n":5,"o":2}}"#
            ])
    }

    @Test("an incomplete value is raised again once it is complete, though its data is the same")
    func completion() throws {
        let scores = try QueryBuilder().ordered(by: .child(TreePath("n"))).starting(at: .integer(5))
        var tree = try tree(scores.parameters, #"{"x":{"n":5,"o":1}}"#)
        let deep = write("a/z/n", Node(.integer(7)), &tree)
        _ = tree.write(deep, at: 0)
        // Data that was complete stays as the listener has it.
        #expect(tree.revert(deep.id).isEmpty)
        let other = write("a/z/n", Node(.integer(7)), &tree)
        _ = tree.write(other, at: 0)
        let change = write("a/x/o", Node(.integer(2)), &tree)
        #expect(values(tree.write(change, at: 0)) == [#"{"x":{"n":5,"o":2}} incomplete"#])
        let query = QuerySpec(path, scores.parameters)
        _ = try tree.listen(to: query, Listener(ListenerID(2), [.value]))
        #expect(
            values(tree.revert(other.id)) == [
                #"{"x":{"n":5,"o":2}}"#, #"{"x":{"n":5,"o":2}}"#,
            ])
        _ = tree.serverOverwrite(TreePath("a/x/o"), Node(.integer(2)), tag: 1)
        #expect(tree.acknowledge(change.id).isEmpty)
    }

    @Test("a window that the server sends while a child is uncertain raises its incomplete value")
    func firstValue() throws {
        let scores = try QueryBuilder().ordered(by: .child(TreePath("n"))).starting(at: .integer(5))
        let query = QuerySpec(path, scores.parameters)
        var tree = SyncTree()
        var replica = ViewReplica(query)
        func take(_ events: [TreeEvent]) {
            for event in events { #expect(replica.apply(event) == nil) }
            #expect(replica.endOperation() == nil)
        }
        take(try tree.listen(to: query, Listener(ListenerID(1), Set(TreeEventType.allCases))))
        let whole = write("a/x", try Node(parsing: #"{"n":6}"#), &tree)
        take(tree.write(whole, at: 0))
        #expect(replica.value == nil)
        let deep = write("a/z/n", Node(.integer(7)), &tree)
        take(tree.write(deep, at: 0))
        let answer = tree.serverOverwrite(path, try Node(parsing: #"{"w":{"n":5}}"#), tag: 1)
        #expect(values(answer) == [#"{"w":{"n":5},"x":{"n":6}} incomplete"#])
        take(answer)
        #expect(tree.listenCompleted(path, tag: 1).isEmpty)
        let refusal = tree.revert(deep.id)
        #expect(values(refusal) == [#"{"w":{"n":5},"x":{"n":6}}"#])
        take(refusal)
    }

    @Test("a full window is incomplete while a pending write leaves it short of children")
    func short() throws {
        var tree = try tree(
            try QueryBuilder().ordered(by: .key).limited(toFirst: 2).parameters, #"{"x":1,"y":2}"#)
        let removal = write("a/x", .empty, &tree)
        #expect(values(tree.write(removal, at: 0)) == [#"{"y":2} incomplete"#])
        #expect(values(tree.revert(removal.id)) == [#"{"x":1,"y":2}"#])
    }

    // MARK: Acknowledged children that the server's window lacks

    @Test(
        "an acknowledged child leaves while another write is pending if the window proves it absent"
    )
    func overtaken() throws {
        let four = try QueryBuilder().ordered(by: .child(TreePath("n"))).limited(toFirst: 4)
        var tree = try tree(four.parameters, #"{"x":{"n":5}}"#)
        let creation = write("a/z", try Node(parsing: #"{"n":7}"#), &tree)
        _ = tree.write(creation, at: 0)
        _ = tree.write(write("a/y", .empty, &tree), at: 0)
        // The server has applied the write before, and another client has removed the child since.
        #expect(values(tree.acknowledge(creation.id)) == [#"{"x":{"n":5}}"#])
    }

    @Test(
        "a full window proves an acknowledged child absent at its place, and not beyond its last child"
    )
    func overtakenInFull() throws {
        let two = try QueryBuilder().ordered(by: .child(TreePath("n"))).limited(toFirst: 2)
        for (place, isProven) in [(5, true), (8, false)] {
            var tree = try tree(two.parameters, #"{"x":{"n":4},"y":{"n":6}}"#)
            let creation = write("a/z", try Node(parsing: #"{"n":\#(place)}"#), &tree)
            _ = tree.write(creation, at: 0)
            let removal = write("a/x", .empty, &tree)
            #expect(
                values(tree.write(removal, at: 0)).last
                    == (isProven
                        ? #"{"y":{"n":6},"z":{"n":5}}"# : #"{"y":{"n":6},"z":{"n":8}} incomplete"#))
            #expect(
                values(tree.acknowledge(creation.id))
                    == (isProven ? [#"{"y":{"n":6}} incomplete"#] : []))
            _ = tree.serverMerge(
                path,
                [
                    PathValue(TreePath("x"), .empty),
                    PathValue(TreePath("z"), try Node(parsing: #"{"n":7}"#)),
                ],
                tag: 1)
            let last = tree.acknowledge(removal.id)
            #expect(
                tree.value(of: QuerySpec(path, two.parameters)).map { "\($0)" }
                    == #"{"y":{"n":6},"z":{"n":7}}"#)
            #expect(values(last).allSatisfy { !$0.hasSuffix("incomplete") })
        }
    }

    // MARK: The store

    @Test("a child outside a stored window is read where the store has the whole location")
    func storedLocation() throws {
        let cache = MemoryTreeCache()
        var first = SyncTree(cache.start())
        _ = try first.listen(to: QuerySpec(path), Listener(ListenerID(1), [.value]))
        _ = first.serverOverwrite(
            path, try Node(parsing: #"{"v":{"n":1,"o":1},"w":{"n":2,"o":2},"x":{"n":3,"o":3}}"#))
        _ = first.listenCompleted(path)
        let scores = try QueryBuilder().ordered(by: .child(TreePath("n")))
        for parameters in [
            try scores.limited(toLast: 1).parameters,
            try scores.starting(at: .integer(4)).parameters,
        ] {
            let query = QuerySpec(path, parameters)
            var tree = SyncTree(cache.start())
            _ = try tree.listen(to: query, Listener(ListenerID(1), [.value]))
            let change = write("a/v/n", Node(.integer(7)), &tree)
            #expect(values(tree.write(change, at: 0)) == [#"{"v":{"n":7,"o":1}}"#])
            _ = tree.revert(change.id)
            let creation = write("a/z/n", Node(.integer(8)), &tree)
            #expect(values(tree.write(creation, at: 0)) == [#"{"z":{"n":8}}"#])
            let stored = try #require(try tree.storedValue(of: query))
            #expect("\(stored.node)" == #"{"z":{"n":8}}"#)
            #expect(stored.isComplete)
            _ = tree.revert(creation.id)
        }
    }
}
