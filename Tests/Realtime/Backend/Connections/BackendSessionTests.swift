import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Sessions and permissions of the backend")
struct SessionTests {
    /// A backend where `/private` belongs to the user "owner".
    private func backend(
        tokens: @escaping RealtimeBackend.TokenCheck = { .valid(RealtimeUser(id: $0)) }
    ) -> TestBackend {
        TestBackend {
            $0.tokens = tokens
            $0.rules = { request in
                request.path.hasPrefix("/private") && request.user?.id != "owner" ? .deny : .allow
            }
        }
    }

    @Test("what the rules deny is refused and changes nothing")
    func denial() throws {
        let backend = backend()
        let client = backend.connect()
        _ = client.received()
        #expect(client.listen("private/x") == ["1 permission_denied"])
        #expect(client.send(.get(QuerySpec(TreePath("private")))) == ["2 permission_denied"])
        #expect(try client.put("private", "1") == ["3 permission_denied"])
        #expect(
            try client.merge("", [("public", "1"), ("private/x", "2")]) == ["4 permission_denied"])
        #expect(backend.tree == .empty)
        try backend.set("private", "5")
        #expect(client.received() == [])
    }

    @Test("rules see the tree before and after, and the time that timestamps have")
    func requests() throws {
        let seen = Box<[String]>([])
        let backend = TestBackend {
            $0.rules = { request in
                let text =
                    "\(request.operation) \(request.path) \(request.user?.id ?? "-")"
                    + " \(request.tree) \(request.result) \(request.milliseconds)"
                seen.withLock { $0.append(text) }
                return .allow
            }
        }
        try backend.set("a", "1")
        let client = backend.connect()
        _ = client.send(.authenticate(token: "u"))
        _ = try client.put("a", #"{".sv":"timestamp"}"#)
        _ = client.listen("b/c")
        #expect(
            seen.withLock { $0 } == [
                #"write /a u {"a":1} {"a":1700000000000} 1700000000000"#,
                #"read /b/c u {"a":1700000000000} {"a":1700000000000} 1700000000000"#,
            ])
    }

    @Test("a token authenticates the connection until another one or none does")
    func authentication() throws {
        let backend = backend {
            $0 == "bad" ? .invalid(reason: "no") : .valid(RealtimeUser(id: $0))
        }
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(.authenticate(token: "owner")) == ["1 ok"])
        #expect(client.listen("private") == ["2 ok"])
        #expect(client.listen("public") == ["3 ok"])
        #expect(try client.put("private", "1") == ["d /private 1", "4 ok"])
        #expect(client.send(.unauthenticate) == ["c /private", "5 ok"])
        try backend.set("private", "2")
        #expect(client.received() == [])
        #expect(client.send(.authenticate(token: "bad")) == ["6 invalid_token"])
        #expect(try client.put("public", "1") == ["d /public 1", "7 ok"])
    }

    @Test("an administrator who acts as another user has that user's rights")
    func actingUser() throws {
        let backend = TestBackend {
            $0.tokens = {
                $0 == "admin" ? .valid(.administrator) : .valid(RealtimeUser(id: $0))
            }
            $0.rules = { request in
                request.user.map { "/" + $0.id } == request.path ? .allow : .deny
            }
        }
        let client = backend.connect()
        _ = client.received()
        func acting(_ user: ActingUser?, _ token: String = "admin") -> [String] {
            client.send(.authenticate(token: token, actingAs: user))
        }
        let ada = ActingUser.authentication(.object([JSONMember("uid", .string("ada"))]))
        #expect(acting(nil) == ["1 ok"])
        #expect(try client.put("bob", "1") == ["2 ok"])
        #expect(acting(ada) == ["3 ok"])
        #expect(try client.put("ada", "1") == ["4 ok"])
        #expect(try client.put("bob", "2") == ["5 permission_denied"])
        #expect(client.listen("bob") == ["6 permission_denied"])
        #expect(acting(.unauthenticated) == ["7 ok"])
        #expect(try client.put("ada", "2") == ["8 permission_denied"])
        #expect(acting(ada, "bob") == ["9 invalid_token"])
        #expect(try client.put("bob", "3") == ["10 permission_denied"])
    }

    @Test("an expired token is refused; one that expires ends the authentication in time")
    func expiration() throws {
        let expiration = Timestamp(seconds: 1_700_000_010, nanoseconds: 0)
        let backend = backend {
            $0 == "old" ? .expired : .valid(RealtimeUser(id: $0, expiration: expiration))
        }
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(.authenticate(token: "old")) == ["1 expired_token"])
        #expect(client.send(.authenticate(token: "owner")) == ["2 ok"])
        _ = client.listen("private")
        backend.scheduler.clock.advance(by: .seconds(9))
        backend.scheduler.fireDue()
        #expect(client.received() == [])
        backend.scheduler.clock.advance(by: .seconds(1))
        backend.scheduler.fireDue()
        #expect(client.received() == ["ac expired_token", "c /private"])
        #expect(client.send(.authenticate(token: "owner")) == ["4 expired_token"])
    }

    @Test("the timer of a token ends with the session and with the next token")
    func timers() {
        let expiration = Timestamp(seconds: 1_700_000_010, nanoseconds: 0)
        let backend = backend { .valid(RealtimeUser(id: $0, expiration: expiration)) }
        let client = backend.connect()
        _ = client.send(.authenticate(token: "a"))
        _ = client.send(.authenticate(token: "b"))
        #expect(backend.scheduler.timers.count == 1)
        client.close()
        #expect(backend.scheduler.timers.isEmpty)
    }

    @Test("all tokens expire, listens are revoked and rules are replaced on demand")
    func control() throws {
        let backend = backend()
        let client = backend.connect()
        _ = client.received()
        _ = client.send(.authenticate(token: "owner"))
        _ = (client.listen("private"), client.listen("a"), client.listen("b"))
        backend.perform { $0.expireTokens() }
        #expect(client.received() == ["ac expired_token", "c /private"])
        backend.perform { $0.revokeListens(at: TreePath("a")) }
        #expect(client.received() == ["c /a"])
        backend.perform { $0.setRules { $0.path == "/b" ? .deny : .allow } }
        #expect(client.received() == ["c /b"])
        #expect(client.listen("private") == ["5 ok"])
    }
}
