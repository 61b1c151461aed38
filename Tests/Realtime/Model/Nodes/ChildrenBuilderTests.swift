import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Builders of children")
struct ChildrenBuilderTests {
    @Test("children in any order give the node of an array, and the keys that came twice")
    func randomOrders() {
        var random = SeededRandom()
        for round in 0..<400 {
            let bound = [3, 50, 2000][round % 3]
            var children = (0..<random.below(bound)).map { _ in
                Child(
                    ChildKey(String(random.below(10 * bound))),
                    random.below(5) == 0 ? .empty : Node(.integer(Int64(random.below(100)))))
            }
            switch random.below(3) {
            case 0: children.sort { $0.key < $1.key }
            case 1:
                children = Dictionary(children.map { ($0.key, $0) }) { $1 }.values
                    .sorted { $0.key < $1.key }
            default: break
            }
            var builder = ChildrenBuilder()
            for child in children { builder.append(child) }
            #expect(builder.isEmpty == children.isEmpty)
            let node = builder.node(priority: .number(LeafNumber(1)))
            #expect(
                node == Node(children: children, priority: .number(LeafNumber(1))), "\(random)")
            node.branch?.children.check()
            let counts = Dictionary(grouping: children, by: \.key).filter { $0.value.count > 1 }
            #expect(builder.duplicateKey.map { counts[$0] != nil } ?? counts.isEmpty, "\(random)")
        }
    }
}
