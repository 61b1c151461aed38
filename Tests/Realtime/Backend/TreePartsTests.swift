import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeBackend

@Suite("Parts of stored trees")
struct TreePartsTests {
    @Test("a node in parts is that node, whatever its place had before; no part is large")
    func parts() throws {
        var random = SeededRandom()
        var count = 0
        for _ in 0..<2000 {
            let (path, node) = (random.path(), random.node())
            let before = random.node()
            let limit = 8 + random.below(100)
            var parts = TreeParts(maxBytes: limit)
            var tree = before
            let write = { (part: [PathValue]) in
                count += 1
                #expect(part.count == 1 || part.reduce(0) { $0 + $1.node.estimatedSize } <= limit)
                for value in part { tree = tree.setting(value.path, to: value.node) }
            }
            try parts.add(PathValue(path, node), write)
            write(parts.rest)
            try #require(tree == before.setting(path, to: node), "\(random)")
        }
        #expect(count > 4000)
    }
}
