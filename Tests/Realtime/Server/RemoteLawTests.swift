import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

/// What holds for every remote: the backend in the process, and the same behind sockets.
@Suite("Realtime: laws of remotes", .timeLimit(.minutes(10)))
struct RemoteLawTests {
    enum Way: CaseIterable { case inProcess, sockets }

    private func withRemote(
        _ way: Way, _ body: (any RealtimeRemote) async throws -> Void
    ) async throws {
        switch way {
        case .inProcess:
            var configuration = RealtimeBackendConfiguration()
            configuration.tokens = {
                $0 == "owner" ? .valid(.administrator) : .invalid(reason: "no")
            }
            let backend = RealtimeBackend(configuration)
            try await body(backend.remote("demo"))
            try await backend.close()
        case .sockets: try await withServer { try await body($0.remote()) }
        }
    }

    @Test("a session begins with a greeting that names it", arguments: Way.allCases)
    func greeting(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let (first, second) = (await LawClient(remote), await LawClient(remote))
            let name = try #require(first.session)
            #expect(second.session != nil && second.session != name)
        }
    }

    @Test(
        "a listen is sent the content, then its answer; nothing if it has it",
        arguments: Way.allCases)
    func listens(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            #expect(await client.listen("a") == ["ok"])
            #expect(try await client.put("a/b", "1") == ["d /a/b 1", "ok"])
            let other = await LawClient(remote)
            #expect(await other.listen("a") == [#"d /a {"b":1}"#, "ok"])
            #expect(await other.send(.unlisten(QuerySpec(TreePath("a")), tag: nil)) == ["ok"])
            let hash = try Node(parsing: #"{"b":1}"#).hash
            #expect(await other.listen("a", hash: hash) == ["ok"])
        }
    }

    @Test(
        "a write reaches the listens of all clients, before its own answer", arguments: Way.allCases
    )
    func writes(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let (writer, reader) = (await LawClient(remote), await LawClient(remote))
            await reader.listen("")
            await writer.listen("a")
            #expect(try await writer.put("a", "{\"x\":1}") == [#"d /a {"x":1}"#, "ok"])
            let values = [
                PathValue(TreePath("y/z"), try Node(parsing: "2")),
                PathValue(TreePath("x"), .empty),
            ]
            #expect(
                await writer.send(.merge(TreePath("a"), values))
                    == ["m /a {y/z: 2, x: null}", "ok"])
            await reader.wait(for: #"d /a {"x":1}"#)
            await reader.wait(for: "m /a {y/z: 2, x: null}")
            #expect(await writer.get("a") == [#"ok {"y":{"z":2}}"#])
        }
    }

    @Test(
        "a conditional write of stale data is refused, and its client brought up to date",
        arguments: Way.allCases)
    func conditions(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            #expect(try await client.put("n", "1", hash: "") == ["ok"])
            await client.listen("n")
            #expect(try await client.put("n", "2", hash: "") == ["d /n 1", "datastale"])
            let hash = try Node(parsing: "1").hash
            #expect(try await client.put("n", "2", hash: hash) == ["d /n 2", "ok"])
        }
    }

    /// A conditional write to an empty node.
    private func namedPut(_ value: Int64, _ name: String) -> RealtimeRequest {
        .once(
            WriteToken(client: "c", write: name),
            .put(TreePath("n"), Node(.integer(value)), hash: ""))
    }

    @Test(
        "a conditional write with a name that arrives on the next connection is made once",
        arguments: Way.allCases)
    func namedConditions(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            #expect(await client.send(namedPut(1, "t1-1")) == ["ok"])
            try await client.put("n", "5")
            client.close()
            let next = await LawClient(remote, lastSession: client.session)
            #expect(next.namesID != nil && next.namesID == client.namesID)
            #expect(await next.send(namedPut(1, "t1-1")) == ["ok"])
            #expect(await next.send(namedPut(1, "t2-1")) == ["datastale"])
            #expect(await next.get("n") == ["ok 5"])
        }
    }

    @Test("a window is sent what enters and what leaves it", arguments: Way.allCases)
    func windows(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            try await client.put("s", #"{"a":1,"b":2,"c":3}"#)
            #expect(
                try await client.listen("s", tag: 7) {
                    try $0.ordered(by: .value).limited(toLast: 2)
                } == [#"d /s {"b":2,"c":3} #7"#, "ok"])
            #expect(try await client.put("s/d", "4") == ["m /s {b: null, d: 4} #7", "ok"])
            #expect(try await client.put("s/a", "0") == ["ok"])
        }
    }

    @Test("a listen with hashes of ranges is sent the ranges that differ", arguments: Way.allCases)
    func ranges(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            let text = { (last: Int) in
                "{"
                    + (0..<100).map { "\"k\($0 + 100)\":\"\(String(repeating: "v", count: 40))\"," }
                    .joined() + "\"z\":\(last)}"
            }
            let known = try Node(parsing: text(1))
            try await client.put("big", text(2))
            let events = await client.listen(
                "big", hash: known.hash, compoundHash: CompoundHash(known))
            #expect(events.count == 2 && events[0].hasPrefix("rm /big (") && events[1] == "ok")
            #expect(events[0].utf8.count < text(2).utf8.count / 2)
        }
    }

    @Test(
        "what a client leaves for its end is written when it closes its connection",
        arguments: Way.allCases)
    func ends(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let (client, reader) = (await LawClient(remote), await LawClient(remote))
            await reader.listen("p")
            let node = try Node(parsing: "\"gone\"")
            #expect(await client.send(.onDisconnectPut(TreePath("p/a"), node)) == ["ok"])
            #expect(await client.send(.onDisconnectPut(TreePath("p/b"), node)) == ["ok"])
            #expect(await client.send(.onDisconnectCancel(TreePath("p/b"))) == ["ok"])
            client.close()
            await reader.wait(for: #"d /p/a "gone""#)
            #expect(await reader.get("p") == [#"ok {"a":"gone"}"#])
        }
    }

    @Test("a client that names its previous session ends that one", arguments: Way.allCases)
    func takesOver(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let (client, reader) = (await LawClient(remote), await LawClient(remote))
            await reader.listen("p")
            await client.send(.onDisconnectPut(TreePath("p"), try Node(parsing: "1")))
            let next = await LawClient(remote, lastSession: client.session)
            #expect(next.session != nil)
            await reader.wait(for: "d /p 1")
        }
    }

    @Test(
        "a token that is not valid is refused, and the connection remains", arguments: Way.allCases)
    func tokens(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            #expect(await client.send(.authenticate(token: "nobody")) == ["invalid_token"])
            #expect(await client.send(.authenticate(token: "owner")) == ["ok"])
            #expect(await client.send(.unauthenticate) == ["ok"])
            #expect(await client.send(.statistics(["sdk": 1])) == ["ok"])
        }
    }

    @Test("an invalid write fails, and the connection remains", arguments: Way.allCases)
    func invalid(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            let events = try await client.put(".info/x", "1")
            #expect(events == ["failed"])
            #expect(try await client.put("a", "1") == ["ok"])
        }
    }

    @Test("messages of many frames arrive whole", arguments: Way.allCases)
    func longMessages(_ way: Way) async throws {
        try await withRemote(way) { remote in
            let client = await LawClient(remote)
            let text = "\"" + String(repeating: "ä€😀", count: 60_000) + "\""
            #expect(try await client.put("long", text) == ["ok"])
            let node = try Node(parsing: text)
            #expect(await client.get("long") == ["ok \(node)"])
        }
    }
}
