import LarderCore
import LarderRealtimeModel
import LarderRealtimeTestSupport
import Testing

@Suite("Range merges")
struct RangeMergeTests {
    private func merge(
        _ node: String, after start: String?, through end: String?, _ content: String
    ) throws -> JSONValue {
        let merge = RangeMerge(
            after: start.map { TreePath($0) }, through: end.map { TreePath($0) },
            try Node(parsing: content))
        return merge.applied(to: try Node(parsing: node)).exportedJSON
    }

    private func json(_ text: String) throws -> JSONValue {
        try Node(parsing: text).exportedJSON
    }

    @Test("what lies within is replaced, what lies outside stays")
    func replacing() throws {
        let node = #"{"a":1,"b":{"x":1,"y":2,"z":3},"c":3}"#
        #expect(
            try merge(node, after: "a", through: "b/y", #"{"b":{"w":0}}"#)
                == json(#"{"a":1,"b":{"w":0,"z":3},"c":3}"#))
        #expect(
            try merge(node, after: nil, through: "b/x", "null")
                == json(#"{"b":{"y":2,"z":3},"c":3}"#))
        #expect(
            try merge(node, after: "b/y", through: nil, #"{"d":4}"#)
                == json(#"{"a":1,"b":{"x":1,"y":2},"d":4}"#))
        #expect(try merge(node, after: nil, through: nil, "7") == json("7"))
        #expect(try merge(node, after: "b", through: "b", "7") == json(node))
    }

    @Test("at the inclusive end a leaf goes, children beyond it stay")
    func inclusiveEnd() throws {
        #expect(try merge(#"{"a":1,"b":2}"#, after: nil, through: "a", "null") == json(#"{"b":2}"#))
        #expect(
            try merge(#"{"a":{"x":1},"b":2}"#, after: nil, through: "a", "null")
                == json(#"{"a":{"x":1},"b":2}"#))
        #expect(
            try merge(#"{"a":{"x":1},"b":2}"#, after: nil, through: "a", #"{"a":5}"#)
                == json(#"{"a":5,"b":2}"#))
    }

    @Test("a leaf on the way to the end goes, with its priority")
    func leafOnTheWay() throws {
        let node = #"{"a":{".value":1,".priority":9},"b":2}"#
        #expect(
            try merge(node, after: nil, through: "a/x", #"{"a":{"w":1}}"#)
                == json(#"{"a":{"w":1},"b":2}"#))
        #expect(try merge(node, after: nil, through: "a/x", "null") == json(#"{"b":2}"#))
    }

    @Test("a node's priority has its place between the keys")
    func priorities() throws {
        let node = #"{"a":{"1":1,"z":2,".priority":5}}"#
        #expect(
            try merge(node, after: "a/1", through: "a/z", #"{"a":{"z":3}}"#)
                == json(#"{"a":{"1":1,"z":3}}"#))
        #expect(
            try merge(node, after: "a/y", through: nil, #"{"a":{"zz":3}}"#)
                == json(#"{"a":{"1":1,"zz":3,".priority":5}}"#))
        #expect(
            try merge(node, after: nil, through: "a/y", #"{"a":{"2":3,".priority":6}}"#)
                == json(#"{"a":{"2":3,"z":2,".priority":6}}"#))
    }
}
