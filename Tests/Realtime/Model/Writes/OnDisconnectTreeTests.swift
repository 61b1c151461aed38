import LarderRealtimeModel
import LarderRealtimeTestSupport
import Testing

@Suite("Writes for the end of a connection")
struct OnDisconnectTreeTests {
    private func taken(_ change: (inout OnDisconnectTree) throws -> Void) throws -> [String] {
        var tree = OnDisconnectTree()
        try change(&tree)
        let values = tree.take(at: 1000) { _ in Node(.integer(40)) }
        #expect(tree.isEmpty)
        return values.map { "\($0.path): \($0.node)" }
    }

    @Test(
        "later writes replace earlier ones at and below their path, and are folded into those above"
    )
    func folding() throws {
        #expect(
            try taken {
                $0.remember(TreePath("a/b"), Node(.integer(1)))
                $0.remember(TreePath("a"), try Node(parsing: #"{"c":2}"#))
                $0.remember(TreePath("a/d"), [PathValue(TreePath("e"), Node(.integer(3)))])
                $0.remember(TreePath("b"), .empty)
            } == [#"/a: {"c":2,"d":{"e":3}}"#, "/b: null"])
    }

    @Test("values are computed when the connection ends")
    func serverValues() throws {
        #expect(
            try taken {
                $0.remember(TreePath("t"), Node(.deferred(.timestamp)))
                $0.remember(
                    TreePath("n"), Node(.deferred(.increment(LeafNumber(2 as Int64)))))
            } == ["/n: 42", "/t: 1000"])
    }

    @Test("a cancelled path takes what is below it, and splits what is above")
    func cancelling() throws {
        #expect(
            try taken {
                $0.remember(TreePath("a"), try Node(parsing: #"{"x":1,"y":2,".priority":3}"#))
                $0.remember(TreePath("b/c"), Node(.integer(1)))
                $0.remember(TreePath("b/d/e"), Node(.integer(1)))
                $0.forget(TreePath("a/x"))
                $0.forget(TreePath("b/d"))
                $0.forget(TreePath("z"))
            } == ["/a/.priority: 3", "/a/y: 2", "/b/c: 1"])
        #expect(
            try taken {
                $0.remember(TreePath("a"), Node(.integer(1)))
                $0.forget(.root)
            } == [])
    }
}
