import LarderCore
import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Hashes of nodes")
struct NodeHashTests {
    @Test(
        "known hashes",
        arguments: [
            (#""bar""#, "9q1XbR6M8eku+omj9cTQ2E5Jg1A="), ("1", "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="),
            ("1.0", "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="), ("true", "E5z61QM0lN/U2WsOnusszCTkR8M="),
            ("3.5", "hAx0dMFavOC9GSpzRWFG31DKCXo="), ("null", ""), ("{}", ""),
            (#"{".value":"bar",".priority":"baz"}"#, "ucaycBtic8V8NoIMbcdn+UHL+fI="),
            (#"{"foo":"bar"}"#, "XnLeTeWQmzTHImTbSMDLg/qMrKY="),
            (#"{"a":1,"b":2}"#, "AUZnXhNqrfbznYVxcCvNpzpjvTU="),
            (#"{"b":2,".priority":3,"a":1}"#, "0brZY7xl3ehshNM0E/1EomoJVnc="),
        ])
    func vectors(_ text: String, hash: String) throws {
        #expect(try Node(parsing: text).hash == hash)
    }

    @Test("negative zero and zero hash differently, as their bits do")
    func negativeZero() throws {
        #expect(try Node(parsing: "-0.0").hash != Node(parsing: "0").hash)
    }

    @Test("hashes are those of a plain implementation, also when all children have priorities")
    func plain() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let node = random.node()
            #expect(node.hash == PlainTree(node).hash, "\(random)")
        }
        let prioritized = try Node(
            parsing: #"{"a":{".value":1,".priority":2},"b":{".value":1,".priority":1}}"#)
        #expect(prioritized.hash == PlainTree(prioritized).hash)
    }

    @Test("a changed node's hash is that of the same node made whole, in large nodes too")
    func changes() {
        var random = SeededRandom()
        for priorities in [false, true] {
            var node = Node(
                children: (0..<3000).map { Child(ChildKey("k\($0 * 7 % 3000)"), random.leaf()) })
            for round in 0..<200 {
                let key = ChildKey("k\(random.below(3500))")
                let leaf = priorities && random.oneIn(20) ? random.node(depth: 0) : random.leaf()
                node = node.settingChild(key, to: random.oneIn(4) ? .empty : leaf)
                if round % 10 == 0 {
                    let whole = Node(sortedChildren: Array(node.children))
                    #expect(node.hash == whole.hash, "\(random)")
                }
            }
            #expect(node.hash == PlainTree(node).hash, "\(random)")
        }
    }
}
