import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("A backend with security rules")
struct SecurityRulesBackendTests {
    private static let rules = """
        {"rules": {
          "users": {"$uid": {
            ".read": "auth.uid == $uid", ".write": "auth.uid == $uid",
            "age": {".validate": "newData.isNumber() && (!data.exists() || newData.val() > data.val())"}}},
          "rooms": {".read": "query.limitToLast <= 10", ".indexOn": "size",
            "$room": {".write": "auth.token.admin == true"}},
          "status": {".write": "!data.child('closed').exists()"},
          "now": {".write": "newData.val() == now", ".read": true},
          "scores": {".read": true, ".indexOn": ".value"}
        }}
        """

    private func backend(_ rules: String = rules) throws -> TestBackend {
        let rules = try SecurityRules(rules)
        let admin = try RealtimeUser(id: "root", claims: #"{"admin": true}"#)
        return TestBackend { configuration in
            configuration.securityRules = rules
            configuration.tokens = { token in
                switch token {
                case "owner": .valid(.administrator)
                case "admin": .valid(admin)
                default: .valid(RealtimeUser(id: token))
                }
            }
        }
    }

    private func connect(_ backend: TestBackend, as token: String? = nil) -> TestConnection {
        let client = backend.connect()
        if let token { client.send(.authenticate(token: token)) }
        _ = client.received()
        return client
    }

    @Test("reads, listens and writes need rules that hold for the user")
    func requests() throws {
        let backend = try backend()
        let ada = connect(backend, as: "ada")
        #expect(try ada.put("users/ada", #"{"age":30}"#) == ["2 ok"])
        #expect(try ada.put("users/bob", #"{"age":30}"#) == ["3 permission_denied"])
        #expect(try ada.put("users/ada/age", "29") == ["4 permission_denied"])
        #expect(try ada.put("users/ada/age", "31") == ["5 ok"])
        #expect(ada.listen("users/ada") == [#"d /users/ada {"age":31}"#, "6 ok"])
        #expect(ada.listen("users") == ["7 permission_denied"])
        #expect(ada.send(.get(QuerySpec(TreePath("users/bob")))) == ["8 permission_denied"])
        #expect(try connect(backend).put("users/ada/age", "32") == ["1 permission_denied"])
        #expect(try connect(backend, as: "admin").put("rooms/a", #"{"size":1}"#) == ["2 ok"])
        #expect(try ada.put("rooms/a", "null") == ["9 permission_denied"])
    }

    @Test("updates of several locations are made as a whole or not at all")
    func updates() throws {
        let backend = try backend()
        let ada = connect(backend, as: "ada")
        #expect(
            try ada.merge("", [("users/ada", "1"), ("users/bob", "1")]) == ["2 permission_denied"])
        #expect(
            try ada.merge("users/ada", [("name", #""Ada""#), ("age", #""x""#)]) == [
                "3 permission_denied"
            ])
        #expect(backend.tree == .empty)
        #expect(try ada.merge("users/ada", [("name", #""Ada""#), ("age", "1")]) == ["4 ok"])
    }

    @Test("server values are those of the write, in the rules as well")
    func serverValues() throws {
        let backend = try backend()
        let client = connect(backend)
        #expect(try client.put("now", #"{".sv":"timestamp"}"#) == ["1 ok"])
        #expect(try client.put("now", "1") == ["2 permission_denied"])
    }

    @Test("queries see their parameters, and are told that their order has no index")
    func queries() throws {
        let backend = try backend()
        try backend.set("rooms/a", #"{"size":1}"#)
        let client = connect(backend)
        #expect(client.listen("rooms") == ["1 permission_denied"])
        #expect(
            try client.listen("rooms", tag: 1) { try $0.limited(toLast: 11) } == [
                "2 permission_denied"
            ])
        func listen(_ path: String, _ build: (QueryBuilder) throws -> QueryBuilder) throws
            -> JSONValue?
        {
            let query = QuerySpec(TreePath(path), try build(QueryBuilder()).parameters)
            client.enqueue(.listen(query, tag: 7, hash: "", compoundHash: nil))
            guard case .response(_, let response)? = client.receivedEvents().last else {
                return nil
            }
            #expect(response.status == .ok)
            guard case .json(let json) = response.payload else { return nil }
            return json
        }
        let warning = JSONValue.object([JSONMember("w", .array([.string("no_index")]))])
        #expect(
            try listen("rooms") { try $0.ordered(byChild: "name").limited(toLast: 2) } == warning)
        #expect(try listen("rooms") { try $0.ordered(byChild: "size").limited(toLast: 2) } == nil)
        #expect(try listen("scores") { try $0.ordered(by: .value).limited(toFirst: 2) } == nil)
        #expect(try listen("scores") { try $0.ordered(by: .key).limited(toFirst: 2) } == nil)
    }

    @Test(
        "writes for the end of a connection need the rules when they are registered and when they are made"
    )
    func onDisconnect() throws {
        let backend = try backend()
        let client = connect(backend)
        #expect(
            client.send(.onDisconnectPut(TreePath("rooms/a"), Node(.boolean(true)))) == [
                "1 permission_denied"
            ])
        #expect(
            client.send(.onDisconnectPut(TreePath("status/ada"), Node(.string("off")))) == ["2 ok"])
        #expect(
            client.send(
                .onDisconnectPut(TreePath("now"), try Node(parsing: #"{".sv":"timestamp"}"#))) == [
                    "3 ok"
                ])
        try backend.set("status/closed", "true")
        backend.scheduler.clock.advance(by: .seconds(3))
        client.close()
        #expect(backend.tree.description == #"{"now":1700000003000,"status":{"closed":true}}"#)
    }

    @Test("listens end when the user changes, and when the rules are replaced")
    func revoking() throws {
        let backend = try backend()
        let ada = connect(backend, as: "ada")
        _ = (ada.listen("users/ada"), ada.listen("now"))
        #expect(ada.send(.unauthenticate) == ["c /users/ada", "4 ok"])
        let closed = try SecurityRules(#"{"rules": {}}"#)
        backend.perform { $0.setSecurityRules(closed) }
        #expect(ada.received() == ["c /now"])
        backend.perform { $0.setSecurityRules(nil) }
        #expect(try ada.put("anything", "1") == ["5 ok"])
    }

    @Test("an administrator needs no rules")
    func administrators() throws {
        let backend = try backend(#"{"rules": {".validate": false}}"#)
        let owner = connect(backend, as: "owner")
        backend.perform { $0.setRules { _ in .deny } }
        #expect(try owner.put("a", "1") == ["2 ok"])
        #expect(owner.listen("") == [#"d / {"a":1}"#, "3 ok"])
        #expect(owner.send(.onDisconnectPut(TreePath("b"), Node(.boolean(true)))) == ["4 ok"])
        owner.close()
        #expect(backend.tree.description == #"{"a":1,"b":true}"#)
    }

    @Test("the claims of a user are a JSON object")
    func claims() throws {
        for text in ["", "1", "[]", "{"] {
            #expect(throws: LarderError.self) { try RealtimeUser(id: "a", claims: text) }
        }
        let user = try RealtimeUser(id: "a", provider: "password", claims: #"{"x":1}"#)
        #expect(
            user.authentication
                == (try RulesText.json(#"{"uid":"a","provider":"password","token":{"x":1}}"#)))
        #expect(user == (try RealtimeUser(id: "a", provider: "password", claims: #"{"x":1}"#)))
        #expect(user != RealtimeUser(id: "a"))
    }
}

private enum RulesText {
    static func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }
}
