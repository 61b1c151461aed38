import LarderCore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Compound hashes")
struct CompoundHashTests {
    private func hash(of text: String) -> String { PlainSHA1.base64(Array(text.utf8)) }

    @Test("known hashes")
    func vectors() throws {
        let plain = CompoundHash(try Node(parsing: #"{"foo":"bar"}"#))
        #expect(plain.posts == [TreePath("foo")])
        #expect(plain.hashes == ["LmKmJmXugtGlEGoulMbz86myDNw=", ""])
        let prioritized = CompoundHash(
            try Node(parsing: #"{"foo":{".value":"bar",".priority":"baz"}}"#))
        #expect(
            prioritized.hashes == [hash(of: #"("foo":(priority:string:"baz":string:"bar"))"#), ""])
        let empty = CompoundHash(.empty)
        #expect(empty.posts.isEmpty && empty.hashes == [""])
    }

    @Test("a range that ends inside continues with the open ancestors")
    func ranges() throws {
        let node = try Node(parsing: #"{"1":"one","2":"two","10":"ten"}"#)
        let compound = CompoundHash(node, rangeLength: 30)
        #expect(compound.posts == [TreePath("2"), TreePath("10")])
        #expect(
            compound.hashes == [
                hash(of: #"("1":(string:"one"),"2":(string:"two"))"#),
                hash(of: #"("10":(string:"ten"))"#), "",
            ])
        let deep = CompoundHash(
            try Node(parsing: #"{"a":{"b":{"c":true,"d":"q\"\\"}},"e":1}"#), rangeLength: 1)
        #expect(
            deep.hashes == [
                hash(of: #"("a":("b":("c":(boolean:true))))"#),
                hash(of: #"("a":("b":("d":(string:"q\"\\"))))"#),
                hash(of: #"("e":(number:3ff0000000000000))"#), "",
            ])
    }

    @Test("priorities of nodes count where all keys sort before them, and end no range")
    func priorities() throws {
        let numbers = CompoundHash(try Node(parsing: #"{"1":1,".priority":2}"#), rangeLength: 1)
        #expect(numbers.posts == [TreePath(".priority")])
        #expect(
            numbers.hashes == [
                hash(
                    of:
                        #"("1":(number:3ff0000000000000),".priority":(number:4000000000000000))"#),
                "",
            ])
        let names = CompoundHash(try Node(parsing: #"{"a":1,"b":2,".priority":2}"#), rangeLength: 1)
        #expect(names.posts == [TreePath("a"), TreePath("b")])
    }

    @Test("ranges are longer than 512 units and the square root of a hundred sizes")
    func lengths() throws {
        let node = Node(
            children: (0..<1000).map {
                Child(ChildKey("key\($0)"), Node(.string(String(repeating: "x", count: 20))))
            })
        let length = (Double(node.estimatedSize) * 100).squareRoot()
        // A child is `"key123":(string:"xxxxxxxxxxxxxxxxxxxx"),` in the text.
        let perRange = Int(length / 41) + 1
        #expect(abs(CompoundHash(node).posts.count - 1000 / perRange) <= 1)
        let small = Node(
            children: (0..<20).map { Child(ChildKey("key\($0)"), Node(.string("0123456789"))) })
        #expect(CompoundHash(small).posts.count == 2)
    }

    @Test("estimated sizes follow the rules of Firebase's clients")
    func sizes() throws {
        let sizes: [(String, Int)] = [
            ("null", 4), ("1", 8), ("true", 4), (#""abc""#, 5), (#""😀""#, 4),
            (#"{".value":1,".priority":"xy"}"#, 8 + 24 + 4), (#"{"ab":1}"#, 1 + 6 + 8),
            (#"{"ab":1,".priority":1}"#, 1 + 6 + 8 + 9 + 4 + 8),
        ]
        for (text, size) in sizes {
            #expect(try Node(parsing: text).estimatedSize == size, "\(text)")
        }
    }

    @Test("counts that do not fit are no compound hash")
    func counts() {
        #expect(CompoundHash(posts: [], hashes: []) == nil)
        #expect(CompoundHash(posts: [TreePath("a")], hashes: ["x"]) == nil)
        #expect(CompoundHash(posts: [TreePath("a")], hashes: ["x", ""]) != nil)
    }

    @Test("range merges make any copy the node, and an equal copy needs none")
    func merges() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            var server = random.node()
            var client = random.oneIn(8) ? random.node() : server
            for _ in 0..<random.below(4) {
                client = client.setting(random.path(), to: random.node(depth: 1))
                if random.oneIn(3) {
                    server = server.setting(
                        random.path().child(.priority), to: Node(random.priority()))
                }
            }
            let hash = CompoundHash(client, rangeLength: random.pick([1, 20, 100, 1000]))
            let merges = hash.rangeMerges(to: server)
            // Integers beyond 2^53 may differ and have one hash.
            #expect(merges.isEmpty == (client.hash == server.hash), "\(random)")
            let merged = merges.reduce(client) { $1.applied(to: $0) }
            #expect(merged.hash == server.hash, "\(random)\n\(client)\n\(hash.posts)")
        }
    }

    @Test("a change in a large node changes one range")
    func locality() {
        let node = Node(
            children: (0..<1000).map { Child(ChildKey("key\($0)"), Node(.integer(Int64($0)))) })
        let hash = CompoundHash(node)
        let changed = node.setting(TreePath("key500"), to: Node(.string("new")))
        let merges = hash.rangeMerges(to: changed)
        #expect(merges.count == 1)
        #expect(merges[0].content.childCount < 100)
    }
}
