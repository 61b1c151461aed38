import LarderRealtimeModel
import LarderSharedTestSupport
import Testing

@Suite("Trees of values by path")
struct PathTreeTests {
    private func path(_ random: inout SeededRandom) -> TreePath {
        TreePath((0..<random.below(4)).map { _ in ChildKey(random.pick(["a", "b", "c"])) })
    }

    @Test("A tree agrees with a dictionary of paths")
    func dictionary() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var tree = PathTree<Int>()
            var values: [TreePath: Int] = [:]
            for number in 0..<random.below(12) {
                let path = path(&random)
                if random.oneIn(4) {
                    tree.removeSubtree(at: path)
                    values = values.filter { !path.isAncestorOrEqual(of: $0.key) }
                } else {
                    let value = random.oneIn(4) ? nil : number
                    tree[path] = value
                    values[path] = value
                }
            }
            #expect(tree.isEmpty == values.isEmpty && Set(tree.paths) == Set(values.keys))
            for _ in 0..<10 {
                let place = path(&random)
                #expect(tree[place] == values[place], "\(random)")
                #expect(
                    tree.hasValues(overlapping: place)
                        == values.keys.contains { $0.overlaps(place) }, "\(random)")
                #expect(
                    (tree.subtree(at: place) != nil)
                        == values.keys.contains { place.isAncestorOrEqual(of: $0) }, "\(random)")
                var onWay: [Int: Int] = [:]
                tree.visit(along: place) { depth, value in
                    onWay[depth] = value
                    return true
                }
                let expected = values.filter { $0.key.isAncestorOrEqual(of: place) }
                #expect(
                    onWay == Dictionary(uniqueKeysWithValues: expected.map { ($0.count, $1) }),
                    "\(random)")
            }
        }
    }
}
