import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Sorted trees")
struct SortedTreeTests {
    private func child(_ number: Int, _ value: Int = 0) -> Child {
        Child(ChildKey(String(number)), Node(.integer(Int64(value))))
    }

    private func keys(_ tree: SortedTree<Child>) -> [String] { tree.map(\.key.text) }

    @Test("random changes give what a dictionary has, in any size, and keep the structure sound")
    func changes() {
        var random = SeededRandom()
        for bound in [10, 40, 300, 5000] {
            var tree = SortedTree<Child>()
            var model: [Int: Int] = [:]
            for round in 0..<6000 {
                let number = random.below(bound)
                // Grow, shrink, grow.
                let removes = random.below(10) < (round / 2000 == 1 ? 7 : 3)
                if removes {
                    tree.remove(ChildKey(String(number)))
                    model[number] = nil
                } else {
                    tree.insert(child(number, round))
                    model[number] = round
                }
                if round % 500 == 0 { tree.check() }
            }
            tree.check()
            let sorted = model.sorted { $0.key < $1.key }
            #expect(Array(tree) == sorted.map { child($0.key, $0.value) }, "\(random)")
            for number in 0..<min(bound, 300) {
                let key = ChildKey(String(number))
                let offset = tree.offset(of: key)
                #expect(offset.offset == sorted.count { $0.key < number })
                #expect(offset.isFound == (model[number] != nil))
                #expect(tree[key: key] == model[number].map { child(number, $0) })
                if number < tree.count { #expect(tree[number].key.text == "\(sorted[number].key)") }
            }
        }
    }

    @Test(
        "a tree of sorted elements is sound for every count",
        arguments: [0, 1, 32, 33, 63, 800, 30_000])
    func bulk(_ count: Int) {
        let tree = SortedTree(sorted: (0..<count).map { child($0) })
        tree.check()
        #expect(tree.count == count && keys(tree) == (0..<count).map(String.init))
    }

    @Test("elements that arrive in order fill their blocks")
    func appending() {
        var tree = SortedTree<Child>()
        for number in 0..<10_000 { tree.insert(child(number)) }
        tree.check()
        #expect(tree.blocks.count < 10_000 / 20)
    }

    @Test("a change makes new blocks only on its way")
    func sharing() {
        var random = SeededRandom()
        let tree = SortedTree(sorted: (0..<100_000).map { child($0 * 2) })
        let before = tree.blocks
        for _ in 0..<25 {
            var changed = tree
            switch random.below(3) {
            case 0: changed.insert(child(random.below(200_000), 1))
            case 1: changed.remove(ChildKey(String(random.below(100_000) * 2)))
            default: changed.insert(child(random.below(100_000) * 2, 1))
            }
            // Four levels, of which each may be split, or joined with a neighbour.
            #expect(changed.blocks.subtracting(before).count <= 8, "\(random)")
            #expect(changed.count { _ in true } == changed.count)
        }
        #expect(tree.blocks == before)
    }

    @Test("differences are those of the elements, and visit little of what is shared")
    func differences() {
        var random = SeededRandom()
        for (size, rounds) in [(5, 50), (100, 50), (5000, 10)] {
            for _ in 0..<rounds {
                let old = SortedTree(sorted: (0..<size).map { child($0 * 2) })
                var new = old
                let changes = random.below(6)
                for _ in 0..<changes {
                    let number = random.below(size * 2)
                    if random.oneIn(2) {
                        new.remove(ChildKey(String(number)))
                    } else {
                        new.insert(child(number, 1))
                    }
                }
                var (found, visited): ([Child], Int) = ([], 0)
                SortedTree.forEachDifference(from: old, to: new) { left, right in
                    visited += 1
                    if left != right { found += [left, right].compactMap { $0 } }
                    return .continue
                }
                let expected = (0..<size * 2).flatMap { number -> [Child] in
                    let key = ChildKey(String(number))
                    let (left, right) = (old[key: key], new[key: key])
                    return left == right ? [] : [left, right].compactMap { $0 }
                }
                #expect(found == expected, "\(random)")
                #expect(visited <= 120 * changes, "\(random)")
            }
        }
    }
}

extension SortedTree {
    /// The identities of all blocks and runs of elements.
    var blocks: Set<UInt> {
        var found: Set<UInt> = []
        func visit(_ subtree: Subtree) {
            switch subtree {
            case .elements(let elements):
                found.insert(UInt(bitPattern: elements.address))
            case .block(let block):
                found.insert(UInt(bitPattern: ObjectIdentifier(block)))
                for slot in block.slots { visit(slot.subtree) }
            }
        }
        visit(root)
        return found
    }

    /// Expects the structure to be sound.
    func check() {
        /// The height of a subtree.
        func visit(_ subtree: Subtree, isRoot: Bool) -> Int {
            switch subtree {
            case .elements(let elements):
                let range = (isRoot ? 0 : Self.maximumCount / 4)...Self.maximumCount
                #expect(range.contains(elements.count))
                for (left, right) in zip(elements.array, elements.array.dropFirst()) {
                    #expect(Element.order(left.sortKey, right.sortKey) < 0)
                }
                return 0
            case .block(let block):
                let range = (isRoot ? 2 : Self.maximumCount / 4)...Self.maximumCount
                #expect(range.contains(block.slots.count))
                #expect(block.count == block.slots.reduce(0) { $0 + $1.count })
                var heights: Set<Int> = []
                for slot in block.slots {
                    heights.insert(visit(slot.subtree, isRoot: false))
                    #expect(slot.count == slot.subtree.count)
                    #expect(Element.order(slot.lowest, Slot(slot.subtree).lowest) == 0)
                }
                #expect(heights.count == 1)
                return 1 + (heights.first ?? 0)
            }
        }
        _ = visit(root, isRoot: true)
    }
}
