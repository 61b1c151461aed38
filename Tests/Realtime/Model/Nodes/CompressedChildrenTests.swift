import LarderCore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Compressed children")
struct CompressedChildrenTests {
    /// The same node, whose children are compressed wherever they can be.
    private func compressed(_ node: Node) throws -> Node {
        let compressor = try #require(ChildrenCompressor(uncompressedBytes: 0))
        return compressed(node, compressor)
    }

    private func compressed(_ node: Node, _ compressor: ChildrenCompressor) -> Node {
        guard node.childCount > 0 else { return node }
        var builder = ChildrenBuilder(compressor)
        for child in node.children {
            builder.append(Child(child.key, compressed(child.node, compressor)))
        }
        return builder.node(priority: node.priority)
    }

    /// Messages with leaves, branches and priorities.
    private func messages(_ random: inout SeededRandom, count: Int) -> Node {
        let children = (0..<count).map { number in
            var leaves = [
                Child(ChildKey("at"), Node(.integer(Int64(number * 977)))),
                Child(ChildKey("likes"), Node(.integer(Int64(random.below(17))))),
                Child(ChildKey("text"), Node(.string("the message \(number), the message"))),
            ]
            if random.oneIn(3) {
                leaves.append(Child(ChildKey("more"), random.node(depth: 2)))
            }
            let priority = random.oneIn(4) ? random.priority() : .none
            return Child(ChildKey("m\(1000 + number)"), Node(children: leaves, priority: priority))
        }
        return Node(children: children, priority: random.priority())
    }

    private func runs(of subtree: SortedTree<Child>.Subtree) -> [CompressedChildren] {
        switch subtree {
        case .block(let block): block.slots.flatMap { runs(of: $0.subtree) }
        case .elements(.packed(.compressed(let run))): [run]
        case .elements(let run): run.array.flatMap { runs(of: $0.node) }
        }
    }

    private func runs(of node: Node) -> [CompressedChildren] {
        node.branch.map { runs(of: $0.children.root) } ?? []
    }

    @Test("a compressed node is equal to its original, with the same hash, size and orders")
    func equality() throws {
        var random = SeededRandom()
        for round in 0..<18 {
            let plain = messages(&random, count: [20, 100, 900][round % 3])
            let node = try compressed(plain)
            #expect(runs(of: node).count >= plain.childCount / 40, "\(random)")
            #expect(node == plain && plain == node, "\(random)")
            #expect(node.hash == plain.hash, "\(random)")
            #expect(node.estimatedSize == plain.estimatedSize, "\(random)")
            node.branch?.children.check()
            for index in [NodeIndex.priority, .value, .child(TreePath("likes"))] {
                let (left, right) = (node.children(by: index), plain.children(by: index))
                #expect(left.elementsEqual(right), "\(random)")
            }
            for (offset, child) in plain.children.enumerated() {
                #expect(node.child(child.key) == child.node, "\(random)")
                #expect(node.children[offset] == child, "\(random)")
            }
            #expect(node.child(ChildKey("m")).isEmpty && node.child(.max).isEmpty)
        }
    }

    @Test("every value comes back, with any priority and at any depth")
    func values() throws {
        var random = SeededRandom()
        for _ in 0..<400 {
            let padding = Child(
                ChildKey("padding"), Node(.string(String(repeating: "x", count: 2000))))
            let plain = Node(
                children: [padding] + random.node(depth: 4).children, priority: random.priority())
            let node = try compressed(plain)
            #expect(!runs(of: node).isEmpty, "\(random)")
            #expect(node == plain && node.hash == plain.hash, "\(random)")
        }
    }

    @Test("children that came in any order are compressed, too")
    func unorderedChildren() throws {
        var random = SeededRandom()
        let plain = messages(&random, count: 300)
        let compressor = try #require(ChildrenCompressor(uncompressedBytes: 0))
        var builder = ChildrenBuilder(compressor)
        for child in plain.children.shuffled(using: &random) { builder.append(child) }
        let node = builder.node(priority: plain.priority)
        #expect(runs(of: node).count >= 300 / 40)
        #expect(node == plain)
    }

    @Test("what is read first is not compressed, nor what is small, large or has deferred values")
    func exceptions() throws {
        var random = SeededRandom()
        let plain = messages(&random, count: 1000)
        let half = try #require(ChildrenCompressor(uncompressedBytes: plain.estimatedSize / 2))
        let count = runs(of: compressed(plain, half)).count
        #expect(try count > 0 && count < runs(of: compressed(plain)).count)

        func isCompressed(_ leaves: [LeafValue]) throws -> Bool {
            let children = leaves.enumerated().map { Child(ChildKey("\($0)"), Node($1)) }
            return try !runs(of: compressed(Node(children: children))).isEmpty
        }
        let text = String(repeating: "x", count: 900)
        #expect(try !isCompressed([.string(text)]))
        #expect(try isCompressed([.string(text), .string(text)]))
        #expect(try !isCompressed([.string(text), .string(text), .deferred(.timestamp)]))
        #expect(try !isCompressed([.string(String(repeating: "x", count: 1 << 16))]))
        // Random text does not become smaller.
        let noise = (0..<100).map { _ in LeafValue.integer(Int64(bitPattern: random.next())) }
        #expect(try !isCompressed(noise))
    }

    @Test("a changed node has the changes, and the one before it does not")
    func changes() throws {
        var random = SeededRandom()
        for _ in 0..<15 {
            var plain = messages(&random, count: 1 + random.below(200))
            var node = try compressed(plain)
            for _ in 0..<20 {
                let (former, formerNode) = (plain, node)
                var path = TreePath("m\(1000 + random.below(220))")
                if random.oneIn(2) {
                    path = path.child(random.pick([ChildKey("likes"), ChildKey("more")]))
                }
                let value = random.oneIn(4) ? .empty : random.node(depth: 2)
                (plain, node) = (plain.setting(path, to: value), node.setting(path, to: value))
                #expect(node == plain && formerNode == former, "\(random)")
                var changed: [ChildKey] = []
                Node.forEachChangedChild(from: formerNode, to: node) { key, _, _ in
                    changed.append(key)
                }
                #expect(changed == (former == plain ? [] : [path[path.startIndex]]), "\(random)")
            }
            #expect(node.hash == plain.hash, "\(random)")
            node.branch?.children.check()
        }
    }

    @Test("children that are forgotten are made again, with their hashes")
    func forgetting() throws {
        var random = SeededRandom()
        let plain = messages(&random, count: 10_000)
        let node = try compressed(plain)
        let runs = runs(of: node)
        try #require(runs.count > 300)
        #expect(node.hash == plain.hash)
        // The first ones were forgotten meanwhile.
        let first = try #require(runs.first)
        let branches = first.children.compactMap(\.node.branch)
        #expect(!branches.isEmpty && branches.allSatisfy { $0.knownDigest != nil })
        #expect(node == plain)
    }

    @Test("several threads read the same children")
    func threads() async throws {
        var random = SeededRandom()
        let plain = messages(&random, count: 8000)
        let node = try compressed(plain)
        let keys = Array(plain.children.map(\.key))
        await withTaskGroup(of: Bool.self) { group in
            for thread in 0..<4 {
                let start = random.below(keys.count)
                group.addTask {
                    (0..<1500).allSatisfy { step in
                        let key = keys[(start + step * (thread * 16 + 1)) % keys.count]
                        return node.child(key) == plain.child(key)
                    }
                }
            }
            for await isEqual in group { #expect(isEqual) }
        }
    }

    @Test("a text is read to the same node with a compressor as without one")
    func parsing() throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            let plain = messages(&random, count: 400)
            var text: [UInt8] = []
            plain.appendExportedText(to: &text)
            let compressor = try #require(ChildrenCompressor(uncompressedBytes: 0))
            let (node, other) = try text.withUnsafeBytes {
                (try Node(parsing: $0, compressor), try Node(parsing: $0))
            }
            #expect(!runs(of: node).isEmpty && node == other && node == plain, "\(random)")
        }
    }
}
