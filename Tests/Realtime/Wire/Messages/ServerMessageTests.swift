import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderSharedTestSupport
import Testing

@Suite struct ServerMessageTests {
    /// Messages and their texts.
    static let messages: [(ServerMessage, String)] = [
        (
            .hello(
                ServerHello(
                    serverTimeMilliseconds: 1_760_000_000_000, host: "127.0.0.1:9000",
                    sessionID: "sess1")),
            #"{"t":"c","d":{"t":"h","d":{"ts":1760000000000,"v":"5","h":"127.0.0.1:9000","s":"sess1"}}}"#
        ),
        (
            .hello(
                ServerHello(
                    serverTimeMilliseconds: 1, host: "h", sessionID: "s", namesID: "k-1")),
            #"{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"h","s":"s","once":"k-1"}}}"#
        ),
        (.reset(host: "s2.example:1"), #"{"t":"c","d":{"t":"r","d":"s2.example:1"}}"#),
        (.shutdown(reason: "gone"), #"{"t":"c","d":{"t":"s","d":"gone"}}"#),
        (.notice("hm"), #"{"t":"c","d":{"t":"e","d":"hm"}}"#),
        (.pong, #"{"t":"c","d":{"t":"o","d":null}}"#),
        (.unknown("n"), #"{"t":"c","d":{"t":"n","d":null}}"#),
        (.failure("bad"), #"{"t":"d","d":{"error":"bad"}}"#),
        (
            .response(ResponseMessage(number: 1, RealtimeResponse(.ok))),
            #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#
        ),
        (
            .response(
                ResponseMessage(
                    number: 12, RealtimeResponse(.permissionDenied, reason: "Permission denied"))),
            #"{"t":"d","d":{"r":12,"b":{"s":"permission_denied","d":"Permission denied"}}}"#
        ),
        (
            .push(.overwrite(TreePath("scores"), twoScores, tag: 1)),
            #"{"t":"d","d":{"a":"d","b":{"p":"scores","d":{"lambeosaurus":21,"stegosaurus":55},"t":1}}}"#
        ),
        (
            .push(
                .merge(
                    TreePath("scores"),
                    [
                        PathValue(TreePath("trex"), Node(.integer(99))),
                        PathValue(TreePath("lambeosaurus"), .empty),
                    ], tag: 1)),
            #"{"t":"d","d":{"a":"m","b":{"p":"scores","d":{"trex":99,"lambeosaurus":null},"t":1}}}"#
        ),
        (
            .push(.overwrite(TreePath("a/t"), Node(.integer(1_760_000_001_234)), tag: nil)),
            #"{"t":"d","d":{"a":"d","b":{"p":"a/t","d":1760000001234}}}"#
        ),
        (
            .push(
                .rangeMerge(
                    TreePath("big"),
                    [RangeMerge(after: TreePath("c/x"), through: TreePath("f"), Node(.integer(1)))],
                    tag: nil)),
            #"{"t":"d","d":{"a":"rm","b":{"p":"big","d":[{"s":"c/x","e":"f","m":1}]}}}"#
        ),
        (
            .push(
                .rangeMerge(.root, [RangeMerge(after: nil, through: nil, .empty)], tag: 4)),
            #"{"t":"d","d":{"a":"rm","b":{"p":"","d":[{"m":null}],"t":4}}}"#
        ),
        (
            .push(.listenRevoked(TreePath("a"), nil)),
            #"{"t":"d","d":{"a":"c","b":{"p":"a"}}}"#
        ),
        (
            .push(.listenRevoked(TreePath("a"), .default)),
            #"{"t":"d","d":{"a":"c","b":{"p":"a","q":{}}}}"#
        ),
        (
            .push(.authenticationRevoked(.expiredToken, reason: "old")),
            #"{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"old"}}}"#
        ),
        (.push(.securityDebug("why")), #"{"t":"d","d":{"a":"sd","b":{"msg":"why"}}}"#),
    ]

    private static var twoScores: Node {
        Node(children: [
            Child(ChildKey("lambeosaurus"), Node(.integer(21))),
            Child(ChildKey("stegosaurus"), Node(.integer(55))),
        ])
    }

    @Test(arguments: messages) func `every message has its text, and the other way round`(
        message: ServerMessage, text: String
    ) throws {
        #expect(String(decoding: message.text, as: UTF8.self) == text)
        #expect(try ServerMessage(Array(text.utf8)) == message)
    }

    @Test func `random pushes survive the wire`() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let message = ServerMessage.push(random.push())
            #expect(try ServerMessage(message.text) == message, "\(random)")
        }
    }

    @Test func `the data of an answer means what the request asked for`() throws {
        #expect(try response(#"{"s":"ok","d":{}}"#) == RealtimeResponse(.ok))
        #expect(try response(#"{"s":"ok"}"#) == RealtimeResponse(.ok))
        let warnings = try JSONValue(parsing: Array(#"{"w":["no_index"]}"#.utf8))
        #expect(
            try response(#"{"s":"ok","d":{"w":["no_index"]}}"#)
                == RealtimeResponse(.ok, payload: .json(warnings)))
        #expect(
            try response(#"{"s":"ok","d":null}"#, isContent: true)
                == RealtimeResponse(.ok, payload: .node(.empty)))
        #expect(
            try response(#"{"s":"ok","d":""}"#, isContent: true)
                == RealtimeResponse(.ok, payload: .node(Node(.string("")))))
        #expect(
            try response(#"{"s":"datastale","d":"stale"}"#, isContent: true)
                == RealtimeResponse(.dataStale, reason: "stale"))
        #expect(
            try response(#"{"s":"made_up"}"#)
                == RealtimeResponse(ResponseStatus(rawValue: "made_up")))
    }

    @Test func `answers survive the wire`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let node = RealtimeResponse(.ok, payload: .node(random.node()))
            let message = ServerMessage.response(ResponseMessage(number: 5, node))
            guard case .response(let read) = try ServerMessage(message.text) else {
                Issue.record("no response; \(random)")
                return
            }
            #expect(try read.response(isContent: true) == node, "\(random)")
        }
    }

    @Test func `the text of an answer with a node is that of its JSON`() throws {
        var random = SeededRandom()
        for number in 0..<100 {
            let node = random.node()
            let answer = ResponseMessage(
                number: number, RealtimeResponse(.ok, payload: .node(node)))
            let plain = ResponseMessage(number: number, status: .ok, data: node.exportedJSON)
            #expect(answer == plain)
            #expect(
                ServerMessage.response(answer).text == ServerMessage.response(plain).text,
                "\(random)")
        }
    }

    @Test func `unknown actions and members are ignored`() throws {
        let push = #"{"t":"d","d":{"a":"apc","b":{"s":"x"}},"z":1}"#
        #expect(try ServerMessage(Array(push.utf8)) == .unknown("apc"))
        for member in [#""x":[]"#, #""once":1"#, #""once":null"#, #""once":{"c":"s"}"#] {
            let hello = #"{"t":"c","d":{"t":"h","d":{"ts":1.5e3,"h":"h","s":"s",\#(member)}}}"#
            #expect(
                try ServerMessage(Array(hello.utf8))
                    == .hello(ServerHello(serverTimeMilliseconds: 1500, host: "h", sessionID: "s")),
                "\(member)")
        }
    }

    @Test(arguments: [
        "", "0", "[]", "{}", "null", "{", #"{"t":"d"}"#, #"{"t":"x","d":{}}"#, #"{"t":"d","d":1}"#,
        #"{"t":"d","d":{}}"#, #"{"t":"c","d":{}}"#, #"{"t":"c","d":{"t":"h"}}"#,
        #"{"t":"c","d":{"t":"h","d":{"ts":1e300,"h":"","s":""}}}"#,
        #"{"t":"c","d":{"t":"h","d":{"ts":1,"h":null,"s":""}}}"#, #"{"t":"c","d":{"t":"r","d":1}}"#,
        #"{"t":"d","d":{"r":"1","b":{"s":"ok"}}}"#, #"{"t":"d","d":{"r":1,"b":{}}}"#,
        #"{"t":"d","d":{"r":1}}"#, #"{"t":"d","d":{"a":1}}"#, #"{"t":"d","d":{"a":"d"}}"#,
        #"{"t":"d","d":{"a":"d","b":{"p":"a","d":{".sv":"?"}}}}"#,
        #"{"t":"d","d":{"a":"m","b":{"p":"a","d":null}}}"#,
        #"{"t":"d","d":{"a":"m","b":{"p":"a","d":{"b":1,"b/c":2}}}}"#,
        #"{"t":"d","d":{"a":"rm","b":{"p":"a","d":{}}}}"#,
        #"{"t":"d","d":{"a":"rm","b":{"p":"a","d":[1]}}}"#,
        #"{"t":"d","d":{"a":"rm","b":{"p":"a","d":[{"s":1}]}}}"#,
        #"{"t":"d","d":{"a":"c","b":{"q":{}}}}"#, #"{"t":"d","d":{"a":"c","b":{"p":"","q":1}}}"#,
        #"{"t":"d","d":{"a":"ac","b":{}}}"#, #"{"t":"d","t":"d","d":{"a":"sd"}}"#,
    ])
    func `what is none of the protocol is refused`(text: String) {
        #expect(code { try ServerMessage(Array(text.utf8)) } == .invalidArgument)
    }

    @Test func `deep and damaged messages are refused without a trap`() throws {
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(code { try ServerMessage(Array(deep.utf8)) } == .invalidArgument)
        var random = SeededRandom()
        for (_, text) in Self.messages {
            for _ in 0..<200 {
                let bytes = random.mutated(Array(text.utf8))
                guard let message = try? ServerMessage(bytes) else { continue }
                // Of an unknown push, the kind can be that of a control message with content.
                if case .unknown = message { continue }
                #expect(throws: Never.self, "\(random)") { try ServerMessage(message.text) }
                if case .response(let response) = message {
                    _ = try? response.response(isContent: random.oneIn(2))
                }
            }
        }
        for (_, content) in ClientMessageTests.requests {
            for _ in 0..<200 {
                let bytes = random.mutated(Array(#"{"t":"d","d":\#(content)}"#.utf8))
                guard case .request(let request)? = try? ClientMessage(bytes) else { continue }
                _ = try? request.request()
            }
        }
    }

    private func response(
        _ body: String, isContent: Bool = false
    ) throws -> RealtimeResponse {
        let text = #"{"t":"d","d":{"r":5,"b":\#(body)}}"#
        guard case .response(let response) = try ServerMessage(Array(text.utf8)) else {
            throw LarderError.invalidMessage("no response")
        }
        #expect(response.number == 5)
        return try response.response(isContent: isContent)
    }
}
