import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderSharedTestSupport
import Testing

@Suite struct ClientMessageTests {
    private static let big: CompoundHash? = CompoundHash(
        posts: [TreePath("c/x"), TreePath("f")], hashes: ["h1", "h2", ""])

    private static let scores = QuerySpec(TreePath("scores"), topTwo)

    private static var topTwo: QueryParameters {
        let builder = try? QueryBuilder().ordered(by: .value).limited(toLast: 2)
        return builder?.parameters ?? .default
    }

    /// Requests, and the content of their messages.
    static let requests: [(RealtimeRequest, String)] = [
        (
            .statistics(["sdk.objc.12-0-0": 1]),
            #"{"r":7,"a":"s","b":{"c":{"sdk.objc.12-0-0":1}}}"#
        ),
        (
            .listen(scores, tag: 1, hash: "", compoundHash: nil),
            #"{"r":7,"a":"q","b":{"p":"/scores","q":{"l":2,"vf":"r","i":".value"},"t":1,"h":""}}"#
        ),
        (
            .listen(QuerySpec(TreePath("secret")), tag: nil, hash: "", compoundHash: nil),
            #"{"r":7,"a":"q","b":{"p":"/secret","h":""}}"#
        ),
        (
            .listen(QuerySpec(TreePath("big")), tag: nil, hash: "H", compoundHash: big),
            #"{"r":7,"a":"q","b":{"p":"/big","h":"H","ch":{"hs":["h1","h2",""],"ps":["c/x","f"]}}}"#
        ),
        (
            .unlisten(scores, tag: 1),
            #"{"r":7,"a":"n","b":{"p":"/scores","q":{"l":2,"vf":"r","i":".value"},"t":1}}"#
        ),
        (.unlisten(QuerySpec(.root), tag: nil), #"{"r":7,"a":"n","b":{"p":"/"}}"#),
        (.get(QuerySpec(TreePath("a/b"))), #"{"r":7,"a":"g","b":{"p":"/a/b","q":{}}}"#),
        (
            .put(TreePath("a/t"), Node(.deferred(.timestamp)), hash: nil),
            #"{"r":7,"a":"p","b":{"p":"/a/t","d":{".sv":"timestamp"}}}"#
        ),
        (
            .put(TreePath("n"), Node(.integer(2)), hash: "YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="),
            #"{"r":7,"a":"p","b":{"p":"/n","d":2,"h":"YPVfR2bXt/lcDjiQZ8pOkAd3qkQ="}}"#
        ),
        (
            .once(
                WriteToken(client: "c-1", write: "7-1", answered: ["5-1", "6-1"]),
                .put(TreePath("n"), Node(.integer(2)), hash: nil)),
            #"{"r":7,"a":"p","b":{"p":"/n","d":2,"once":{"c":"c-1","w":"7-1","a":["5-1","6-1"]}}}"#
        ),
        (
            .once(
                WriteToken(client: "c-1", write: "t1-8-1-0", answered: ["7-1"]),
                .put(TreePath("n"), Node(.integer(2)), hash: "YPVf=")),
            #"{"r":7,"a":"p","b":{"p":"/n","d":2,"h":"YPVf=","once":{"c":"c-1","w":"t1-8-1-0","a":["7-1"]}}}"#
        ),
        (
            .once(
                WriteToken(client: "c", write: "7", former: ["s-1", "s-2"]),
                .put(TreePath("n"), Node(.integer(2)), hash: nil)),
            #"{"r":7,"a":"p","b":{"p":"/n","d":2,"once":{"c":"c","w":"7","f":["s-1","s-2"]}}}"#
        ),
        (
            .once(
                WriteToken(client: "c", write: "7"),
                .merge(.root, [PathValue(TreePath("a"), .empty)])),
            #"{"r":7,"a":"m","b":{"p":"/","d":{"a":null},"once":{"c":"c","w":"7"}}}"#
        ),
        (.put(TreePath("n"), .empty, hash: ""), #"{"r":7,"a":"p","b":{"p":"/n","d":null,"h":""}}"#),
        (
            .merge(
                .root,
                [
                    PathValue(TreePath("a/b"), Node(.boolean(true))),
                    PathValue(TreePath("x/.priority"), Node(.integer(3))),
                ]),
            #"{"r":7,"a":"m","b":{"p":"/","d":{"a/b":true,"x/.priority":3}}}"#
        ),
        (
            .onDisconnectPut(TreePath("status"), Node(.string("offline"))),
            #"{"r":7,"a":"o","b":{"p":"/status","d":"offline"}}"#
        ),
        (
            .onDisconnectMerge(TreePath("s"), [PathValue(TreePath("a"), .empty)]),
            #"{"r":7,"a":"om","b":{"p":"/s","d":{"a":null}}}"#
        ),
        (
            .onDisconnectCancel(TreePath("status")),
            #"{"r":7,"a":"oc","b":{"p":"/status","d":null}}"#
        ),
        (
            .authenticate(token: "eyJhbGciOiJub25lIn0.eyJpYXQiOjF9."),
            #"{"r":7,"a":"auth","b":{"cred":"eyJhbGciOiJub25lIn0.eyJpYXQiOjF9."}}"#
        ),
        (.authenticate(token: "owner"), #"{"r":7,"a":"gauth","b":{"cred":"owner"}}"#),
        (
            .authenticate(token: "owner", actingAs: .unauthenticated),
            #"{"r":7,"a":"gauth","b":{"cred":"owner","noauth":true}}"#
        ),
        (
            .authenticate(
                token: "owner",
                actingAs: .authentication(.object([JSONMember("uid", .string("a"))]))),
            #"{"r":7,"a":"gauth","b":{"cred":"owner","authvar":{"uid":"a"}}}"#
        ),
        (.unauthenticate, #"{"r":7,"a":"unauth","b":{}}"#),
    ]

    @Test(arguments: requests) func `every request has its message, and the other way round`(
        request: RealtimeRequest, content: String
    ) throws {
        let text = #"{"t":"d","d":\#(content)}"#
        let message = ClientMessage.request(RequestMessage(number: 7, request))
        #expect(String(decoding: message.text, as: UTF8.self) == text)
        guard case .request(let read) = try ClientMessage(Array(text.utf8)) else {
            Issue.record("no request")
            return
        }
        #expect(read.number == 7)
        #expect(try read.request() == request)
    }

    @Test func `random requests survive the wire`() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let request = random.request()
            let sent = ClientMessage.request(RequestMessage(number: 1, request))
            guard case .request(let read) = try ClientMessage(sent.text) else {
                Issue.record("no request; \(random)")
                return
            }
            #expect(try read.request() == request, "\(random)")
        }
    }

    @Test func `characters of all planes are read, escaped or not`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let (key, text) = (random.nameOfAllPlanes(), random.textOfAllPlanes())
            let put = try request(
                "p",
                #"{"p":\#(random.json("/\(key)")),"d":{\#(random.json(key)):\#(random.json(text))}}"#
            )
            guard case .put(let path, let node, _) = put else { return }
            #expect("\(path)".utf8.elementsEqual("/\(key)".utf8), "\(random)")
            let expected = JSONValue.object([JSONMember(key, .string(text))])
            #expect(node.exportedJSON == (text.isEmpty ? node.exportedJSON : expected), "\(random)")
        }
    }

    @Test func `legacy and sparse forms of requests are understood`() throws {
        #expect(
            try request("l", #"{"p":"a/b"}"#)
                == .listen(
                    QuerySpec(TreePath("a/b")), tag: nil, hash: "", compoundHash: nil))
        #expect(
            try request("u", #"{"p":"/a","q":null,"t":null}"#)
                == .unlisten(QuerySpec(TreePath("a")), tag: nil))
        #expect(
            try request("auth", #"{"cred":"x","noauth":false}"#) == .authenticate(token: "x"))
        #expect(
            try request("gauth", #"{"cred":"x","authvar":null}"#)
                == .authenticate(token: "x", actingAs: .unauthenticated))
        #expect(
            try request("gauth", #"{"cred":"x","noauth":true,"authvar":{"uid":"a"}}"#)
                == .authenticate(token: "x", actingAs: .unauthenticated))
    }

    @Test func `a ping is a control message`() throws {
        let text = #"{"t":"c","d":{"t":"p","d":{}}}"#
        #expect(try ClientMessage(Array(text.utf8)) == .ping)
        #expect(String(decoding: ClientMessage.ping.text, as: UTF8.self) == text)
    }

    @Test(arguments: [
        ("q", "{}"), ("q", #"{"p":1}"#), ("q", #"{"p":"/a","h":1}"#), ("q", #"{"p":"/a","q":1}"#),
        ("q", #"{"p":"/a","t":"x"}"#), ("q", #"{"p":"/a","q":{"l":0}}"#),
        ("q", #"{"p":"/a","ch":{}}"#), ("q", #"{"p":"/a","ch":{"hs":[],"ps":[]}}"#),
        ("q", #"{"p":"/a","ch":{"hs":[1],"ps":[]}}"#),
        ("q", #"{"p":"/a","ch":{"hs":["",""],"ps":[1]}}"#),
        ("m", #"{"p":"/a","d":1}"#), ("m", #"{"p":"/a","d":{"b":1,"b/c":2}}"#),
        ("p", #"{"p":"/a","d":{".sv":"x"}}"#), ("s", "{}"), ("s", #"{"c":{"a":"b"}}"#),
        ("auth", "{}"), ("gauth", #"{"cred":"x","noauth":1}"#),
        ("gauth", #"{"cred":"x","noauth":"true"}"#), ("gauth", #"{"cred":"x","authvar":"a"}"#),
        ("gauth", #"{"cred":"x","authvar":[]}"#),
        ("gauth", #"{"cred":"x","auth_variable_override":{}}"#), ("g", "[]"), ("o", "null"),
        ("p", #"{"p":"/a"}"#), ("o", #"{"p":"/a"}"#),
        ("m", #"{"p":"/a","d":{"":1}}"#), ("m", #"{"p":"/a","d":{"/":1}}"#),
        ("om", #"{"p":"/a","d":{"//":1}}"#), ("om", #"{"p":"/a","d":{"":null}}"#),
        ("p", #"{"p":"/a","d":1,"once":1}"#),
        ("p", #"{"p":"/a","d":1,"once":{"c":"a/b","w":"1"}}"#),
        ("p", #"{"p":"/a","d":1,"once":{"c":"","w":"1"}}"#),
        ("m", #"{"p":"/a","d":{},"once":{"c":"a","w":"1","a":[1]}}"#),
        ("m", #"{"p":"/a","d":{},"once":{"c":"a","w":"1","f":["/"]}}"#),
    ])
    func `invalid bodies are refused, and their numbers are known`(
        action: String, body: String
    ) throws {
        #expect(code { try request(action, body) } == .invalidArgument)
    }

    @Test func `an unknown action is not implemented`() throws {
        #expect(code { try request("zz", "{}") } == .unimplemented)
    }

    @Test func `paths that no server has are refused before they are taken apart`() throws {
        let deep = Array(repeating: "a", count: 34).joined(separator: "/")
        #expect(code { try request("p", #"{"p":"\#(deep)","d":1}"#) } == .invalidArgument)
        let slashes = String(repeating: "/", count: 1_000_000)
        #expect(code { try request("p", #"{"p":"\#(slashes)","d":1}"#) } == .invalidArgument)
        #expect(code { try request("m", #"{"p":"","d":{"\#(deep)":1}}"#) } == .invalidArgument)
        #expect(code { try request("q", #"{"p":"","q":{"i":"\#(deep)"}}"#) } == .invalidArgument)
    }

    private func request(_ action: String, _ body: String) throws -> RealtimeRequest {
        let text = #"{"t":"d","d":{"r":3,"a":"\#(action)","b":\#(body)}}"#
        guard case .request(let message) = try ClientMessage(Array(text.utf8)) else {
            throw LarderError.invalidMessage("no request")
        }
        #expect(message.number == 3)
        return try message.request()
    }
}
