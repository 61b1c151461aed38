import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Writes at the backend")
struct WriteTests {
    @Test("a conditional put is made if the hash is that of the present node")
    func conditional() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(try client.put("n", "1", hash: "") == ["1 ok"])
        #expect(try client.put("n", "2", hash: "") == ["2 datastale"])
        let one = Node(.integer(1)).hash
        #expect(try client.put("n", "2", hash: one) == ["3 ok"])
        #expect(backend.tree.description == #"{"n":2}"#)
        _ = client.listen("n")
        #expect(try client.put("n", "3", hash: one) == ["d /n 2", "5 datastale"])
        #expect(try client.put("n", "null", hash: Node(.integer(2)).hash) == ["d /n null", "6 ok"])
    }

    @Test("server values are computed once, from the present tree")
    func serverValues() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = (client.received(), client.listen(""))
        #expect(try client.put("n", #"{".sv":{"increment":2}}"#) == ["d /n 2", "2 ok"])
        backend.scheduler.clock.advance(by: .milliseconds(1500))
        #expect(
            try client.merge(
                "", [("n", #"{".sv":{"increment":0.5}}"#), ("t", #"{".sv":"timestamp"}"#)])
                == ["m / {n: 2.5, t: 1700000001500}", "3 ok"])
    }

    @Test("an update is made whole: an invalid part refuses all of it")
    func atomic() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(try client.merge("a", [("x", "1"), ("y.z", "2")]) == ["1 failed"])
        #expect(try client.merge("a", [("x", "1"), ("x/y", "2")]) == ["2 failed"])
        #expect(try client.merge("a", []) == ["3 ok"])
        #expect(backend.tree == .empty)
    }

    @Test(
        "invalid writes are refused, and the connection goes on",
        arguments: [
            ("a.b", "1"), (".info/x", "1"), ("a", #"{"x.y":1}"#), ("a/.priority", "true"),
            ("a/.priority", #"{"x":1}"#), ("a/.priority/b", "1"),
            (
                "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32",
                #"{"x":1}"#
            ),
        ])
    func invalid(_ path: String, value: String) throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(try client.put(path, value) == ["1 failed"])
        #expect(
            client.send(.onDisconnectPut(TreePath(path), try Node(parsing: value))) == ["2 failed"])
        #expect(try client.put("fine", "1") == ["3 ok"])
    }

    @Test("priorities are written alone and with values")
    func priorities() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = (client.received(), client.listen(""))
        #expect(try client.put("a/.priority", "1") == ["2 ok"])
        #expect(try client.put("a", "5") == ["d /a 5", "3 ok"])
        #expect(try client.put("a/.priority", "1") == ["d /a/.priority 1", "4 ok"])
        #expect(backend.tree.description == #"{"a":{".value":5,".priority":1}}"#)
    }
}
