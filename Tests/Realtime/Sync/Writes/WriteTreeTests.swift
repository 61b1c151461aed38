import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeSync

@Suite("The write tree")
struct WriteTreeTests {
    private func write(
        _ id: Int64, _ path: String, _ node: Node, isVisible: Bool = true
    ) -> PendingWrite {
        PendingWrite(WriteID(id), at: TreePath(path), .overwrite(node), isVisible: isVisible)
    }

    private func number(_ number: Int64) -> Node { Node(.integer(number)) }

    private func node(_ text: String) throws -> Node { try Node(parsing: text) }

    @Test("writes are folded by path, later ones over earlier ones")
    func folding() throws {
        var tree = WriteTree()
        tree.add(write(1, "a/b", number(1)))
        tree.add(write(2, "a", try node(#"{"b":2,"c":3}"#)))
        tree.add(write(3, "a/c/d", number(4)))
        #expect(
            tree.visibleWrites.applied(to: .empty)
                == (try node(#"{"a":{"b":2,"c":{"d":4}}}"#)))
        #expect(tree.visibleWrites.descending(to: TreePath("a/c")).completeNode != nil)
        #expect(tree.visibleWrites.descending(to: TreePath("x")).isEmpty)
    }

    @Test("an earlier write that a removed one lay within appears again as it was")
    func earlierWriteAbove() throws {
        var tree = WriteTree()
        tree.add(write(1, "a", try node(#"{"b":1,"c":2}"#)))
        tree.add(write(2, "a/b", number(5)))
        #expect(tree.remove(WriteID(2), isAccepted: false)?[TreePath("a/b")] == true)
        #expect(
            tree.visibleWrites.applied(to: .empty) == (try node(#"{"a":{"b":1,"c":2}}"#)))
    }

    @Test("a leaf that a removed write had replaced by children appears again")
    func earlierLeafAbove() throws {
        var tree = WriteTree()
        tree.add(write(1, "a", number(7)))
        tree.add(write(2, "a/b", number(5)))
        _ = tree.remove(WriteID(2), isAccepted: false)
        #expect(tree.visibleWrites.applied(to: .empty) == (try node(#"{"a":7}"#)))
    }

    @Test("hidden writes stay hidden when the visible ones are folded again")
    func hiddenWrites() throws {
        var tree = WriteTree()
        tree.add(write(1, "a", try node(#"{"b":1}"#)))
        tree.add(write(2, "a/c", number(2), isVisible: false))
        tree.add(write(3, "a/d", number(3)))
        _ = tree.remove(WriteID(1), isAccepted: false)
        #expect(tree.visibleWrites.applied(to: .empty) == (try node(#"{"a":{"d":3}}"#)))
        #expect(
            tree.latestNode(at: .root, over: { nil }) == (try node(#"{"a":{"c":2,"d":3}}"#)))
    }

    @Test("a write that a later one covers leaves without a trace")
    func coveredWrite() {
        var tree = WriteTree()
        tree.add(write(1, "a/b", number(1)))
        tree.add(write(2, "a", number(2)))
        #expect(tree.remove(WriteID(1), isAccepted: true) == nil)
    }

    @Test("an accepted write stays in an earlier one that covers it")
    func acceptedOutOfOrder() throws {
        var tree = WriteTree()
        tree.add(write(1, "a", try node(#"{"b":1,"c":1}"#)))
        tree.add(write(2, "a/b", number(2)))
        #expect(tree.remove(WriteID(2), isAccepted: true) == nil)
        tree.add(write(3, "a/c", number(3)))
        _ = tree.remove(WriteID(3), isAccepted: false)
        #expect(
            tree.visibleWrites.applied(to: .empty) == (try node(#"{"a":{"b":2,"c":1}}"#)))
    }

    @Test("the latest state has updates at paths deeper and shallower than the location")
    func latestState() throws {
        var tree = WriteTree()
        tree.add(
            PendingWrite(
                WriteID(1), at: .root,
                .merge([
                    PathValue(TreePath("a/b/c"), number(1)), PathValue(TreePath("x"), number(2)),
                ])))
        tree.add(write(2, "a/b/d", number(3), isVisible: false))
        let server = try node(#"{"e":0}"#)
        #expect(
            tree.latestNode(at: TreePath("a/b"), over: { server })
                == (try node(#"{"c":1,"d":3,"e":0}"#)))
        #expect(
            tree.latestNode(at: TreePath("a/b"), over: { server }, excluding: [WriteID(2)])
                == (try node(#"{"c":1,"e":0}"#)))
        #expect(tree.latestNode(at: TreePath("a/b/c"), over: { nil }) == number(1))
        #expect(tree.latestNode(at: TreePath("y"), over: { nil }) == nil)
    }

    @Test(
        "after random additions and removals the writes are folded as if only those left were made")
    func random() {
        var random = SeededRandom()
        for _ in 0..<100 {
            var tree = WriteTree()
            var next: Int64 = 1
            for _ in 0..<40 {
                if random.oneIn(2) || tree.count == 0 {
                    tree.add(randomWrite(WriteID(next), &random))
                    next += 1
                } else {
                    let ids = tree.pending.map(\.id)
                    _ = tree.remove(random.pick(ids), isAccepted: false)
                }
                var visible = PathTree<Node>()
                var hidden = PathTree<Node>()
                for write in tree.pending {
                    for value in write.values {
                        if write.isVisible { visible.fold(value.node, at: value.path) }
                        hidden.fold(value.node, at: value.path)
                    }
                }
                let server = random.node()
                guard isSame(tree.visibleWrites, VisibleWrites(visible)) else {
                    Issue.record("\(tree.visibleWrites)\n\(visible)\n\(tree.pending)\n\(random)")
                    return
                }
                let path = random.path(maximumDepth: 2)
                let latest = tree.latestNode(at: path, over: { server }) ?? .empty
                let plain = tree.pending.flatMap(\.values).reduce(
                    Node.empty.setting(path, to: server)
                ) {
                    $0.setting($1.path, to: $1.node)
                }
                #expect(
                    latest == plain.node(at: path),
                    "\(tree.pending) at \(path) over \(server)\n\(random)")
            }
        }
    }

    private func isSame(_ left: VisibleWrites, _ right: VisibleWrites) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.complete(let left), .complete(let right)): left == right
        case (.partial(let left), .partial(let right)): left == right
        default: false
        }
    }

    private func randomWrite(_ id: WriteID, _ random: inout SeededRandom) -> PendingWrite {
        let keys = ["a", "b", "c", ".priority"].map { ChildKey($0) }
        func path(_ random: inout SeededRandom, _ depth: Int) -> TreePath {
            var path = TreePath(
                (0..<random.below(depth + 1)).map { _ in random.pick(keys.dropLast()) })
            if random.oneIn(8) { path = path.child(.priority) }
            return path
        }
        func node(_ random: inout SeededRandom, _ path: TreePath) -> Node {
            if path.isPriority { return Node(.integer(Int64(random.below(3)))) }
            let node = random.oneIn(5) ? .empty : small(&random, 2)
            return random.oneIn(4) ? node.settingPriority(.number(LeafNumber(1 as Int64))) : node
        }
        if random.oneIn(3) {
            let first = TreePath([random.pick(keys.dropLast())])
            let values = [ChildKey("x"), ChildKey("y")].map { key in
                let place = TreePath([key]).appending(path(&random, 2))
                return PathValue(place, node(&random, place))
            }
            return PendingWrite(id, at: first, .merge(values))
        }
        let place = path(&random, 3)
        return PendingWrite(
            id, at: place, .overwrite(node(&random, place)), isVisible: !random.oneIn(5))
    }

    private func small(_ random: inout SeededRandom, _ depth: Int) -> Node {
        if depth == 0 || random.oneIn(3) { return Node(.integer(Int64(random.below(3)))) }
        return Node(
            children: (0..<1 + random.below(3)).map { _ in
                Child(
                    random.pick(["a", "b", "c", "x"].map { ChildKey($0) }),
                    small(&random, depth - 1))
            })
    }
}
