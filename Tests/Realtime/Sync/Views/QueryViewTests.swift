import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

@Suite("The view of a query")
struct QueryViewTests {
    private let path = TreePath("a")

    private func listener(_ id: UInt) -> Listener { Listener(ListenerID(id), [.value]) }

    private func first(_ count: Int) throws -> QuerySpec {
        QuerySpec(path, try QueryBuilder().limited(toFirst: count).parameters)
    }

    private func values(_ events: [TreeEvent]) -> [String] {
        events.compactMap { event in
            guard case .value(let node) = event.change else { return nil }
            return "\(node)"
        }
    }

    private func write(_ path: String, _ node: Node, _ tree: inout SyncTree) -> PendingWrite {
        PendingWrite(tree.newWriteID(), at: TreePath(path), .overwrite(node))
    }

    // MARK: Children

    /// The events of children as their keys, each behind that of the sibling before it.
    private func children(_ events: [TreeEvent]) -> [String] {
        events.compactMap { event in
            guard case .child(_, let child, let previous) = event.change else { return nil }
            return "\(previous?.text ?? "-") \(child.key.text)"
        }
    }

    @Test("many children at once name the siblings before them as few do", arguments: [1, 7, 40])
    func manyChildren(changedEvery step: Int) throws {
        // Later keys have smaller values.
        let query = QuerySpec(path, try QueryBuilder().ordered(by: .value).parameters)
        let numbers = Array(10..<90)
        func node(adding addend: Int) -> Node {
            Node(
                children: numbers.map { number in
                    let added = number % step == 0 ? addend : 0
                    return Child(
                        ChildKey("k\(number)"), Node(.integer(Int64(1000 - number + added))))
                })
        }
        var tree = SyncTree()
        _ = try tree.listen(to: query, Listener(ListenerID(1), [.childAdded, .childChanged]))
        let added = tree.serverOverwrite(path, node(adding: 0))
        #expect(
            children(added)
                == numbers.reversed().map { $0 == 89 ? "- k89" : "k\($0 + 1) k\($0)" })

        // To the end, in the order that they had among themselves.
        let changed = tree.serverOverwrite(path, node(adding: 1000))
        let moved = numbers.filter { $0 % step == 0 }.reversed()
        let lastOfOthers = numbers.first { $0 % step != 0 }.map { "k\($0)" } ?? "-"
        let before = [lastOfOthers] + moved.map { "k\($0)" }
        #expect(children(changed) == zip(before, moved).map { "\($0) k\($1)" })
    }

    // MARK: Windows

    /// A tree with a query for one child, tag 1, after a plain listen of the location has ended.
    private func treeAfterPlainListen() throws -> SyncTree {
        var tree = SyncTree()
        let plain = QuerySpec(path)
        _ = try tree.listen(to: plain, listener(1))
        _ = tree.serverOverwrite(path, try Node(parsing: #"{"x":1,"y":2,"z":3}"#))
        _ = tree.listenCompleted(path)
        _ = try tree.listen(to: try first(1), listener(2))
        _ = tree.takeListenEffects()
        tree.stopListening(to: plain, ListenerID(1))
        #expect(
            tree.takeListenEffects() == [
                .listen(try first(1), tag: 1), .unlisten(plain, tag: nil),
            ])
        return tree
    }

    @Test("a tagged overwrite does not refill the window with children known from other listens")
    func overwrite() throws {
        var tree = try treeAfterPlainListen()
        let removal = tree.serverOverwrite(TreePath("a/x"), .empty, tag: 1)
        #expect(values(removal) == ["null"])
        let refill = tree.serverOverwrite(TreePath("a/y"), Node(.integer(5)), tag: 1)
        #expect(values(refill) == [#"{"y":5}"#])
    }

    @Test("a tagged merge does not refill the window with children known from other listens")
    func merge() throws {
        var tree = try treeAfterPlainListen()
        let events = tree.serverMerge(path, [PathValue(TreePath("x"), .empty)], tag: 1)
        #expect(values(events) == ["null"])
    }

    @Test("a window that a pending write has refilled does not keep what was known beyond it")
    func refilledWindow() throws {
        var tree = try treeAfterPlainListen()
        let removal = write("a/x", .empty, &tree)
        #expect(values(tree.write(removal, at: 0)) == [#"{"y":2}"#])
        let events = tree.serverOverwrite(TreePath("a/y"), .empty, tag: 1)
        #expect(values(events) == ["null"])
    }

    @Test("data of an ended plain listen does not make a current window a whole location")
    func lateData() throws {
        var tree = try treeAfterPlainListen()
        _ = tree.listenCompleted(path, tag: 1)
        _ = tree.serverOverwrite(path, try Node(parsing: #"{"x":1,"y":2}"#))
        let removal = write("a/x", .empty, &tree)
        #expect(values(tree.write(removal, at: 0)) == ["null"])
    }

    @Test("an acknowledged child that the current window has lost meanwhile is not shown")
    func lostChild() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(2), listener(1))
        _ = tree.listenCompleted(path, tag: 1)
        let one = write("a/x", Node(.integer(1)), &tree)
        #expect(values(tree.write(one, at: 0)) == [#"{"x":1}"#])
        _ = tree.serverOverwrite(TreePath("a/x"), Node(.integer(1)), tag: 1)
        // Another client removes it before the answer to the write is delivered.
        _ = tree.serverOverwrite(TreePath("a/x"), .empty, tag: 1)
        #expect(values(tree.acknowledge(one.id)) == ["null"])
    }

    @Test("an acknowledged child stays while the window's listen is unanswered")
    func unansweredListen() throws {
        var tree = SyncTree()
        _ = try tree.listen(to: try first(2), listener(1))
        let one = write("a/x", Node(.integer(1)), &tree)
        _ = tree.write(one, at: 0)
        #expect(tree.acknowledge(one.id).isEmpty)
        #expect(values(tree.listenCompleted(path, tag: 1)) == ["null"])
    }

    // MARK: Leaves

    @Test("a leaf that the server replaces goes, although a pending write hides what replaces it")
    func replacedLeaf() throws {
        for location in ["a", "a/b"] {
            var tree = SyncTree()
            _ = try tree.listen(to: QuerySpec(path), listener(1))
            _ = tree.listenCompleted(path)
            let leaf = write(location, Node(.string("x")), &tree)
            _ = tree.write(leaf, at: 0)
            let branch = write(location + "/m/o", Node(.integer(3)), &tree)
            _ = tree.write(branch, at: 0)
            let removal = write(location + "/m", .empty, &tree)
            #expect(values(tree.write(removal, at: 0)) == ["null"])
            _ = tree.serverOverwrite(TreePath(location), Node(.string("x")))
            _ = tree.acknowledge(leaf.id)
            #expect(tree.value(of: QuerySpec(TreePath(location)))?.isLeaf == true)
            let events = tree.serverOverwrite(TreePath(location + "/m/o"), Node(.integer(3)))
            #expect(values(events) == ["null"])
            #expect(tree.acknowledge(branch.id).isEmpty)
            _ = tree.serverOverwrite(TreePath(location + "/m"), .empty)
            #expect(tree.acknowledge(removal.id).isEmpty)
        }
    }
}
