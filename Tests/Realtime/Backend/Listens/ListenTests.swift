import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import Testing

@Suite("Listens at the backend")
struct ListenTests {
    @Test("an equal hash is answered without data, another one with all of it")
    func hashes() throws {
        let backend = TestBackend()
        try backend.set("a", #"{"x":1}"#)
        let client = backend.connect()
        _ = client.received()
        #expect(client.listen("a") == [#"d /a {"x":1}"#, "1 ok"])
        #expect(client.listen("a", hash: try Node(parsing: #"{"x":1}"#).hash) == ["2 ok"])
        #expect(client.listen("none", hash: "stale") == ["d /none null", "3 ok"])
    }

    @Test("a compound hash is answered with the ranges that differ")
    func compoundHashes() throws {
        let backend = TestBackend()
        var node = Node(
            children: (0..<500).map { Child(ChildKey("key\($0)"), Node(.integer(Int64($0)))) })
        let hash = CompoundHash(node)
        node = node.setting(TreePath("key123"), to: Node(.string("new")))
        let changed = node
        backend.perform { $0.write(TreeWrite(TreePath("big"), changed)) }
        let client = backend.connect()
        _ = client.received()
        func listen() -> [String] {
            client.send(
                .listen(QuerySpec(TreePath("big")), tag: nil, hash: "stale", compoundHash: hash))
        }
        let answers = listen()
        #expect(answers.count == 2 && answers[0].hasPrefix("rm /big (") && answers[1] == "1 ok")
        #expect(answers[0].contains(#""key123":"new""#) && answers[0].utf8.count < 2000)
        try backend.set("big", #"{"other":1}"#)
        _ = client.received()
        #expect(listen() == [#"rm /big (, ] {"other":1}"#, "2 ok"] || client.received().isEmpty)
    }

    @Test("listens above and below a written path receive what concerns them")
    func places() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        for path in ["", "a/b", "a/b/c", "a/x", "z"] { _ = client.listen(path) }
        _ = client.received()
        #expect(
            try client.put("a/b", #"{"c":1,"d":2}"#) == [
                #"d /a/b {"c":1,"d":2}"#, #"d /a/b {"c":1,"d":2}"#, "d /a/b/c 1", "6 ok",
            ])
        #expect(try client.put("a/b", #"{"c":1,"d":3}"#).count == 3)
        #expect(try client.put("a/b", #"{"c":1,"d":3}"#) == ["8 ok"])
        #expect(
            try client.merge("a", [("b/c", "5"), ("b/d", "null"), ("x", "7"), ("y", "8")]) == [
                "m /a {b/c: 5, b/d: null, x: 7, y: 8}", "m /a/b {c: 5, d: null}", "d /a/b/c 5",
                "d /a/x 7", "9 ok",
            ])
        #expect(try client.put("", "null").count == 5)
        #expect(client.send(.unlisten(QuerySpec(TreePath("a/b")), tag: nil)) == ["11 ok"])
        #expect(try client.put("a/b/c", "1") == ["d /a/b/c 1", "d /a/b/c 1", "12 ok"])
    }

    @Test("a repeated listen is answered again and counted once")
    func repeated() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(client.listen("a") == ["1 ok"])
        #expect(client.listen("a") == ["2 ok"])
        #expect(try client.put("a", "1") == ["d /a 1", "3 ok"])
        #expect(client.send(.unlisten(QuerySpec(TreePath("a")), tag: nil)) == ["4 ok"])
        #expect(client.send(.unlisten(QuerySpec(TreePath("a")), tag: nil)) == ["5 ok"])
        #expect(try client.put("a", "2") == ["6 ok"])
    }

    @Test("a window gains and loses children as they change")
    func windows() throws {
        let backend = TestBackend()
        try backend.set("scores", #"{"lambeosaurus":21,"stegosaurus":55,"linhenykus":9}"#)
        let client = backend.connect()
        _ = client.received()
        #expect(
            try client.listen("scores", tag: 1) { try $0.ordered(by: .value).limited(toLast: 2) }
                == [#"d /scores {"lambeosaurus":21,"stegosaurus":55} #1"#, "1 ok"])
        #expect(
            try client.put("scores/trex", "99")
                == ["m /scores {lambeosaurus: null, trex: 99} #1", "2 ok"])
        #expect(try client.put("scores/trex", "60") == ["m /scores {trex: 60} #1", "3 ok"])
        #expect(
            try client.put("scores/trex", "1")
                == ["m /scores {trex: null, lambeosaurus: 21} #1", "4 ok"])
        #expect(try client.put("scores/linhenykus", "10") == ["5 ok"])
        #expect(
            try client.put("scores/stegosaurus", "null")
                == ["m /scores {stegosaurus: null, linhenykus: 10} #1", "6 ok"])
        #expect(
            try client.put("scores", "5") == [
                "m /scores {lambeosaurus: null, linhenykus: null} #1", "7 ok",
            ])
        #expect(try client.put("scores/x", "5") == ["m /scores {x: 5} #1", "8 ok"])
        #expect(
            try client.put("", #"{"scores":{"x":7,"y":8,"z":9}}"#)
                == ["m /scores {x: null, y: 8, z: 9} #1", "9 ok"])
    }

    @Test("a deep change is sent for a child in the window, and never for another")
    func deepChanges() throws {
        let backend = TestBackend()
        try backend.set("rooms", #"{"a":{"n":1,"t":"x"},"b":{"n":2,"t":"y"},"c":{"n":3}}"#)
        let client = backend.connect()
        _ = client.received()
        _ = try client.listen("rooms", tag: 4) { try $0.ordered(byChild: "n").limited(toFirst: 2) }
        #expect(try client.put("rooms/a/t", #""new""#) == [#"d /rooms/a/t "new" #4"#, "2 ok"])
        #expect(try client.put("rooms/c/t", #""new""#) == ["3 ok"])
        #expect(
            try client.put("rooms/c/n", "0")
                == [#"m /rooms {b: null, c: {"n":0,"t":"new"}} #4"#, "4 ok"])
        #expect(
            try client.merge("rooms", [("a/n", "5"), ("a/t", "null"), ("c/t", "1")]) == [
                #"m /rooms {a: null, c/t: 1, b: {"n":2,"t":"y"}} #4"#, "5 ok",
            ])
        #expect(
            try client.merge("rooms/b", [("n", "1"), ("t", "2")])
                == ["m /rooms {b/n: 1, b/t: 2} #4", "6 ok"])
        #expect(try client.put("rooms/.priority", "1") == ["7 ok"])
        #expect(try client.put("rooms/b/.priority", "1") == ["d /rooms/b/.priority 1 #4", "8 ok"])
    }

    @Test("windows and the plain location are listened to side by side")
    func sideBySide() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = (client.received(), client.listen("l"))
        _ = try client.listen("l", tag: 1) { try $0.limited(toFirst: 1) }
        _ = try client.listen("l", tag: 2) { try $0.limited(toFirst: 1) }
        _ = try client.listen("l", tag: 3) { try $0.starting(at: .null, key: "b") }
        #expect(
            try client.put("l/b", "1") == [
                "d /l/b 1", "m /l {b: 1} #1", "m /l {b: 1} #2", "m /l {b: 1} #3", "5 ok",
            ])
        #expect(
            try client.put("l/a", "1") == [
                "d /l/a 1", "m /l {b: null, a: 1} #1", "m /l {b: null, a: 1} #2", "6 ok",
            ])
    }

    @Test("listens to invalid paths are refused")
    func invalidPaths() {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(client.listen("a.b") == ["1 failed"])
        #expect(client.listen(String(repeating: "a/", count: 33)) == ["2 failed"])
        #expect(client.send(.get(QuerySpec(TreePath("#")))) == ["3 failed"])
    }

    @Test("the hash of a window is that of its content")
    func windowHashes() throws {
        let backend = TestBackend()
        try backend.set("l", #"{"a":1,"b":2,".priority":5}"#)
        let client = backend.connect()
        _ = client.received()
        let hash = try Node(parsing: #"{"b":2}"#).hash
        #expect(
            try client.listen("l", tag: 1, hash: hash) { try $0.limited(toLast: 1) } == ["1 ok"])
    }
}
