import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeServer

@Suite("Large nodes as text")
struct NodeTextTests {
    @Test("the parts are the text of the whole, and none is much larger than a value")
    func parts() async throws {
        var random = SeededRandom()
        let filling = Node(.string(String(repeating: "x", count: 9000)))
        for hasPriorities in [false, true] {
            for _ in 0..<10 {
                // Arrays with gaps, objects, and priorities, at several depths.
                let children = (0..<130).compactMap { index -> Child? in
                    if random.oneIn(3) { return nil }
                    let key = ChildKey(random.oneIn(40) ? "k\(index)" : String(index))
                    let few = (0..<9).map { Child(ChildKey(String($0)), filling) }
                    let node = random.oneIn(2) ? random.node() : Node(children: few)
                    return Child(key, node)
                }
                let node = Node(
                    children: [
                        Child(ChildKey("a"), Node(children: children)),
                        Child(ChildKey("b"), random.node()),
                        Child(ChildKey("c"), Node(children: children.prefix(60))),
                    ], priority: Priority(.string("p")) ?? .none)
                let text = try #require(NodeText(large: node, hasPriorities: hasPriorities))
                var bytes: [UInt8] = []
                for part in text.parts {
                    #expect(part.count < 200_000)
                    bytes += part
                }
                try #require(bytes == text.bytes, "\(random)")
            }
        }
        #expect(NodeText(large: filling, hasPriorities: true) == nil)
    }
}
