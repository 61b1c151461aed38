import LarderCore
import LarderRealtimeModel
import LarderRealtimeTestSupport
import Testing

@Suite("Updates of several paths")
struct PathValueTests {
    private func update(_ text: String, at path: String = "") throws -> [PathValue] {
        try [PathValue](
            validatingUpdate: JSONValue(parsing: Array(text.utf8)), at: TreePath(path))
    }

    @Test("names are paths below the location, a priority may be among them")
    func paths() throws {
        let values = try update(#"{"a/b":1,"/c/":null,"d/.priority":"p","d/e":{"f":2}}"#)
        #expect(values.map(\.path) == ["a/b", "c", "d/.priority", "d/e"].map { TreePath($0) })
        let node = try Node(parsing: #"{"c":1,"d":{"x":1}}"#).setting(values)
        #expect(node.description == #"{"a":{"b":1},"d":{"e":{"f":2},"x":1,".priority":"p"}}"#)
        #expect(try update("{}").isEmpty)
    }

    @Test(
        "invalid updates are refused",
        arguments: [
            "1", "[1]", #"{"":1}"#, #"{"a":1,"a/b":2}"#, #"{"a/b":1,"a/b/":2}"#, #"{"a.b":1}"#,
            #"{"a/.priority":true}"#, #"{".priority/a":1}"#, #"{"a":{"b#":1}}"#,
        ])
    func invalid(_ text: String) {
        #expect(throws: LarderError.self) { try update(text) }
    }

    @Test("siblings are no ancestors of each other, in whatever order they come")
    func siblings() throws {
        #expect(try update(#"{"a/b":1,"a b":2,"a/b2":3,"a-b":4}"#).count == 4)
        #expect(throws: LarderError.self) { try update(#"{"a/b/c":1,"a/b2":3,"a/b":4}"#) }
    }

    @Test(
        "a node whose children are all replaced keeps its priority, one that becomes empty does not"
    )
    func priorities() throws {
        let node = try Node(parsing: #"{"a":{"x":1,".priority":5}}"#)
        let replaced = node.setting(try update(#"{"a/x":null,"a/y":2}"#))
        #expect(replaced.description == #"{"a":{"y":2,".priority":5}}"#)
        #expect(node.setting(try update(#"{"a/.priority":7,"a/x":null}"#)) == .empty)
        #expect(
            Node.empty.setting(try update(#"{"a/.priority":7,"a/x":1}"#)).description
                == #"{"a":{"x":1,".priority":7}}"#)
    }
}
