import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Paths")
struct TreePathTests {
    @Test(
        "slashes at the ends and repeated ones are ignored",
        arguments: ["a/b", "/a//b/", "//a/b//"])
    func parsing(_ text: String) throws {
        let path = try TreePath(validating: text)
        #expect(path.map(\.text) == ["a", "b"])
        #expect(path.description == "/a/b" && path.text == "a/b")
        #expect(path == TreePath(text))
    }

    @Test("the root has no components")
    func root() throws {
        for text in ["", "/", "//"] { #expect(try TreePath(validating: text) == .root) }
        #expect(TreePath.root.description == "/" && TreePath.root.parent == nil)
    }

    @Test("limits are 32 levels and 768 bytes, of the whole path")
    func limits() throws {
        let deep = try TreePath(validating: String(repeating: "a/", count: 32))
        #expect(deep.count == 32)
        #expect(throws: LarderError.self) { try TreePath(validating: "b", below: deep) }
        _ = try TreePath(validating: ".priority", below: deep, allowsPriority: true)
        let long = try TreePath(validating: String(repeating: "x", count: 760))
        _ = try TreePath(validating: "1234567", below: long)
        #expect(throws: LarderError.self) { try TreePath(validating: "12345678", below: long) }
    }

    @Test("reserved names stand only where they may")
    func reserved() throws {
        #expect(throws: LarderError.self) { try TreePath(validating: "a/.priority") }
        #expect(throws: LarderError.self) {
            try TreePath(validating: ".priority/a", allowsPriority: true)
        }
        #expect(try TreePath(validating: "a/.priority", allowsPriority: true).isPriority)
        #expect(TreePath.info.isAncestor(of: try TreePath(validating: ".info/connected")))
        #expect(throws: LarderError.self) { try TreePath(validating: "a/.info") }
        #expect(throws: LarderError.self) {
            try TreePath(validating: ".info", below: TreePath("a"))
        }
    }

    @Test("ancestors, relative paths and concatenation agree")
    func relations() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let (first, second) = (random.path(), random.path())
            let both = first.appending(second)
            #expect(both.count == first.count + second.count)
            #expect(first.isAncestorOrEqual(of: both))
            #expect(first.isAncestor(of: both) == !second.isEmpty)
            #expect(both.relative(to: first) == second, "\(random)")
            let isAncestor = Array(second.prefix(first.count)) == Array(first)
            #expect((second.relative(to: first) != nil) == isAncestor, "\(random)")
            #expect(second.child(ChildKey("k")).parent == second)
            #expect(Set([both, first.appending(second)]).count == 1)
        }
    }

    @Test("paths are ordered by components, a prefix first")
    func order() {
        let paths = ["", "2", "10", "10/a", "10/b", "a", "a/z", "a b", "b"].map { TreePath($0) }
        #expect(paths.shuffled().sorted() == paths)
    }
}
