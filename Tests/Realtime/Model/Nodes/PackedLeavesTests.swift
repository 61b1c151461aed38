import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Packed leaves")
struct PackedLeavesTests {
    private static let values: [LeafValue] =
        [
            .boolean(false), .boolean(true), .string(""), .string("a"),
            .string("ein längerer Text, der nicht in die Variable passt 🚀"),
        ]
        + ([
            0, 1, -1, 127, 128, -128, -129, 255, 256, 32_767, -32_768, 1 << 40, -1 << 40,
            .max, .min, .max - 1, .min + 1,
        ] as [Int64]).map { .integer($0) }
        + [0.5, -0.0, 1e300, -1e-300, .leastNonzeroMagnitude].compactMap { LeafValue.double($0) }

    private static let keys =
        ["", "0", "-1", "00", "2147483647", "2147483648", "\u{E000}", "🚀", "[MIN_NAME]"]
        + ["a", "ab", String(repeating: "k", count: 255), "ein Schlüssel"]

    private func children(_ random: inout SeededRandom, count: Int) -> [Child] {
        var children: [ChildKey: Child] = [:]
        while children.count < count {
            let text = random.below(3) == 0 ? Self.keys[random.below(Self.keys.count)] : nil
            let key = ChildKey(text ?? "key \(random.below(1000))")
            children[key] = Child(key, Node(Self.values[random.below(Self.values.count)]))
        }
        return children.values.sorted { $0.key < $1.key }
    }

    private func expect(_ packed: PackedLeaves?, _ children: [Child], _ comment: Comment) {
        guard let packed else {
            Issue.record("not packed: \(comment)")
            return
        }
        #expect(packed.count == children.count, comment)
        #expect((0..<packed.count).map { packed[$0] } == children, comment)
        var summary = ChildrenSummary()
        for child in children { summary.add(child.summary) }
        #expect(packed.summary == summary, comment)
    }

    @Test("every value and key is what it was")
    func values() {
        for value in Self.values {
            let child = Child(ChildKey("k"), Node(value))
            expect(PackedLeaves([child]), [child], "\(value)")
        }
        for key in Self.keys {
            let child = Child(ChildKey(key), Node(.boolean(true)))
            expect(PackedLeaves([child]), [child], "\(key)")
        }
        expect(PackedLeaves([Child]()), [], "none")
    }

    @Test("the order of the keys is that of the children's")
    func order() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let children = children(&random, count: random.below(30))
            let packed = PackedLeaves(children)
            let others = self.children(&random, count: 5).map(\.key) + [.min, .max]
            for key in others + children.map(\.key) {
                for (index, child) in children.enumerated() {
                    let order = packed?.order(at: index, to: key).signum()
                    #expect(order == child.key.order(to: key).signum(), "\(random)")
                }
            }
        }
    }

    @Test("a replaced, removed or inserted child is what an array has")
    func changes() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var children = children(&random, count: 1 + random.below(30))
            var packed = PackedLeaves(children)
            for _ in 0..<20 {
                let index = random.below(children.count + 1)
                // The key is not looked at.
                let new = self.children(&random, count: 1)[0]
                switch random.below(3) {
                case 0:
                    packed = packed?.replacing(index..<index, with: new)
                    children.insert(new, at: index)
                case 1 where index < children.count:
                    packed = packed?.replacing(index..<(index + 1), with: new)
                    children[index] = new
                case 2 where index < children.count:
                    packed = packed?.replacing(index..<(index + 1), with: nil)
                    children.remove(at: index)
                default: continue
                }
                expect(packed, children, "\(random)")
            }
        }
    }

    @Test("leaves as bytes give what their children give")
    func rawLeaves() throws {
        var random = SeededRandom()
        for count in [1, 2, 5, 32] {
            let children = children(&random, count: count)
            var texts: [UnsafeMutableRawBufferPointer] = []
            defer { for text in texts { text.deallocate() } }
            func borrowed(_ text: String) -> UnsafeRawBufferPointer {
                let copy = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: text.utf8.count, alignment: 1)
                copy.copyBytes(from: text.utf8)
                texts.append(copy)
                return UnsafeRawBufferPointer(copy)
            }
            let leaves = children.map { child in
                let value: RawLeaf.Value =
                    switch child.node.leafValue {
                    case .boolean(let flag)?: .boolean(flag)
                    case .number(let number)?: .number(number)
                    case .string(let text)?: .text(borrowed(text))
                    case .deferred?, nil: .text(borrowed(""))
                    }
                return RawLeaf(key: borrowed(child.key.text), value: value)
            }
            expect(PackedLeaves(leaves), children, "\(random)")
            let node = try #require(Node(rawLeaves: leaves, priority: .none))
            #expect(node == Node(children: children) && node.isPacked, "\(random)")
            #expect(node.estimatedSize == Node(children: children).estimatedSize)
            #expect(node.hash == Node(children: children).hash)
        }
        let key = Array("k".utf8), long = [UInt8](repeating: 97, count: 5000)
        key.withUnsafeBytes { key in
            long.withUnsafeBytes { long in
                let many = [RawLeaf](
                    repeating: RawLeaf(key: key, value: .boolean(true)), count: 33)
                #expect(Node(rawLeaves: many, priority: .none) == nil)
                #expect(PackedLeaves([RawLeaf(key: key, value: .text(long))]) == nil)
                #expect(PackedLeaves([RawLeaf(key: long, value: .boolean(true))]) == nil)
            }
        }
    }

    @Test("what is no short leaf is not packed")
    func unpacked() {
        let leaf = Child(ChildKey("a"), Node(.boolean(true)))
        let others: [Child] = [
            Child(ChildKey("b"), Node(.boolean(true), priority: .number(LeafNumber(1)))),
            Child(ChildKey("b"), Node(.deferred(.timestamp))),
            Child(ChildKey("b"), Node(children: [leaf])),
            Child(ChildKey(String(repeating: "b", count: 256)), Node(.boolean(true))),
            Child(ChildKey("b"), Node(.string(String(repeating: "b", count: 5000)))),
            Child(.max, Node(.boolean(true))),
        ]
        for other in others {
            #expect(PackedLeaves([leaf, other]) == nil, "\(other)")
            #expect(PackedLeaves([leaf])?.replacing(1..<1, with: other) == nil, "\(other)")
            #expect(PackedLeaves([leaf])?.replacing(0..<1, with: other) == nil, "\(other)")
        }
    }

    @Test("a node packs its leaves when the last one that cannot be packed is gone")
    func packsAgain() {
        var node = Node(children: [
            Child(ChildKey("text"), Node(.string("t"))),
            Child(ChildKey("time"), Node(.deferred(.timestamp))),
        ])
        #expect(!node.isPacked)
        node = node.settingChild(ChildKey("time"), to: Node(.integer(1)))
        #expect(node.isPacked)
        node = node.settingChild(ChildKey("time"), to: Node(.deferred(.timestamp)))
        #expect(!node.isPacked && node.hasDeferredValues)
        node = node.settingChild(ChildKey("time"), to: .empty)
        #expect(node.isPacked && !node.hasDeferredValues)
    }
}

extension Node {
    fileprivate var isPacked: Bool {
        if case .elements(.packed)? = branch?.children.root { true } else { false }
    }
}
