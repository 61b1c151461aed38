import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import LarderRealtimeTestSupport
import LarderServer
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeServer

@Suite("Realtime: a mounted server", .timeLimit(.minutes(10)))
struct RealtimeEndpointTests {
    private let owner = ["Authorization: Bearer owner"]

    /// A long text as JSON, another one for each number.
    private static func text(_ number: Int, _ count: Int) -> String {
        "\"\(number)" + String(repeating: "x", count: count) + "\""
    }

    // MARK: REST

    @Test("REST requests are served beside Firestore's, by namespace")
    func rest() async throws {
        try await withServer { server in
            let put = try await RawClient.request("PUT", "/a/b.json?ns=one", "7", to: server)
            #expect(put.status == 200 && put.body == "7")
            #expect(put.fields["content-type"] == "application/json; charset=utf-8")
            #expect(
                try await RawClient.request("GET", "/a.json?ns=one", to: server).body == #"{"b":7}"#
            )
            #expect(try await RawClient.request("GET", "/a.json?ns=two", to: server).body == "null")
            let silent = try await RawClient.request(
                "PUT", "/c.json?ns=one&print=silent", "1", to: server)
            #expect(silent.status == 204 && silent.body.isEmpty)
            #expect(try await RawClient.request("GET", "/", to: server).body == "Ok\n")
            #expect(try await RawClient.request("GET", "/nothing", to: server).status == 404)
            let missing = try await RawClient.request("GET", "/a?ns=one", to: server)
            #expect(missing.status == 404 && missing.body.contains("append .json"))
            let path = "/v1/projects/p/databases/(default)/documents/c/d.json"
            #expect(try await RawClient.request("GET", path, to: server).body.contains("NOT_FOUND"))
        }
    }

    @Test("a conditional request has its tag, its conflict and its answer for what is known")
    func tags() async throws {
        try await withServer { server in
            let got = try await RawClient.request(
                "GET", "/n.json?ns=d", "", ["X-Firebase-ETag: true"], to: server)
            #expect(got.fields["etag"] == "null_etag")
            let put = try await RawClient.request(
                "PUT", "/n.json?ns=d", "1", ["if-match: null_etag"], to: server)
            #expect(put.status == 200)
            let tag = try #require(put.fields["etag"])
            let stale = try await RawClient.request(
                "PUT", "/n.json?ns=d", "2", ["if-match: null_etag"], to: server)
            #expect(stale.status == 412 && stale.body == "1" && stale.fields["etag"] == tag)
            let same = try await RawClient.request(
                "GET", "/n.json?ns=d", "", ["if-none-match: \(tag)"], to: server)
            #expect(same.status == 304 && same.body.isEmpty)
        }
    }

    @Test("a large write is refused, a large one within the limit is served")
    func large() async throws {
        try await withServer({ _, realtime in realtime.session.maxMessageBytes = 200_000 }) {
            server in
            for (count, status) in [(190_000, 200), (200_000, 413)] {
                let text = "\"" + String(repeating: "x", count: count) + "\""
                let response = try await RawClient.request("PUT", "/a.json", text, to: server)
                #expect(response.status == status)
            }
        }
    }

    @Test("long polling is refused with an explanation, a WebSocket without its handshake, too")
    func refusals() async throws {
        try await withServer { server in
            let polling = try await RawClient.request("GET", "/.lp?start=t&ns=d", to: server)
            #expect(polling.status == 501 && polling.body.contains("WebSockets"))
            let plain = try await RawClient.request("GET", "/.ws?v=5&ns=d", to: server)
            #expect(plain.status == 426 && plain.fields["upgrade"] == "websocket")
            let version = try await RawClient(server.port)
            #expect(try await version.upgrade("/.ws?v=4&ns=d").hasPrefix("HTTP/1.1 400 "))
            let foreign = try await RawClient(server.port)
            let head = try await foreign.upgrade(
                "/.ws?v=5&ns=d", ["Origin: http://evil.example"])
            #expect(head.hasPrefix("HTTP/1.1 403 "))
        }
    }

    // MARK: Rules and tokens

    @Test("rules restrict those without a token, and are replaced while the server runs")
    func rules() async throws {
        let rules = try SecurityRules(
            #"{"rules": {"open": {".read": true}, "own": {"$u": {".write": "auth.uid === $u"}}}}"#)
        try await withServer({ _, realtime in realtime.rules.byNamespace["ruled"] = rules }) {
            server in
            #expect(
                try await RawClient.request("GET", "/x.json?ns=ruled", to: server).status == 401)
            #expect(
                try await RawClient.request("GET", "/open.json?ns=ruled", to: server).status == 200)
            #expect(
                try await RawClient.request("GET", "/x.json?ns=other", to: server).status == 200)
            #expect(
                try await RawClient.request("PUT", "/x.json?ns=ruled", "1", owner, to: server)
                    .status
                    == 200)
            // {"alg":"none"} . {"sub":"ada"} .
            let ada = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."
            let path = "/own/ada.json?ns=ruled&auth=\(ada)"
            #expect(try await RawClient.request("PUT", path, "1", to: server).status == 200)
            #expect(
                try await RawClient.request(
                    "PUT", "/own/bob.json?ns=ruled&auth=\(ada)", "1", to: server
                )
                .status == 401)
            let settings = "/.settings/rules.json?ns=ruled"
            let replaced = try await RawClient.request(
                "PUT", settings, #"{"rules": {".read": true}}"#, owner, to: server)
            #expect(replaced.status == 200)
            #expect(try await RawClient.request("GET", "/x.json?ns=ruled", to: server).body == "1")
        }
    }

    @Test("rules that were replaced are on disk, also those of a namespace without data")
    func storedRules() async throws {
        let directory = try TemporaryDirectory()
        let change = {
            (server: inout ServerConfiguration, realtime: inout RealtimeServerConfiguration) in
            server.storage = .directory(directory.path)
            realtime.storage = .directory(directory.file(".realtime"))
        }
        let settings = "/.settings/rules.json?ns=ruled"
        let text = #"{"rules": {"open": {".read": true}}}"#
        try await withServer(change) { server in
            let put = try await RawClient.request("PUT", settings, text, owner, to: server)
            #expect(put.status == 200)
        }
        try await withServer(change) { server in
            let got = try await RawClient.request("GET", settings, "", owner, to: server)
            #expect(got.body == text)
            for (path, status) in [("x", 401), ("open", 200)] {
                let response = try await RawClient.request(
                    "GET", "/\(path).json?ns=ruled", to: server)
                #expect(response.status == status)
            }
        }
    }

    @Test("with a token and no rules only its bearer is served")
    func token() async throws {
        try await withServer({ server, realtime in
            server.token = "secret"
            realtime.token = "secret"
        }) { server in
            for path in ["/a.json?ns=d", "/a.json?ns=d&auth=owner"] {
                #expect(try await RawClient.request("GET", path, to: server).status == 401)
            }
            #expect(
                try await RawClient.request("GET", "/a.json?ns=d&auth=secret", to: server).status
                    == 200)
            let client = await LawClient(try server.remote())
            #expect(try await client.put("a", "1") == ["permission_denied"])
            #expect(await client.send(.authenticate(token: "secret")) == ["ok"])
            #expect(try await client.put("a", "1") == ["ok"])
        }
    }

    // MARK: Event streams

    private func stream(_ target: String, to server: MountedServer) async throws -> RawClient {
        let client = try await RawClient(server.port)
        try await client.send(
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        return client
    }

    @Test("an event stream has the data, then each change, and messages that keep it alive")
    func events() async throws {
        try await withServer({ _, realtime in realtime.keepAliveInterval = .milliseconds(50) }) {
            server in
            let stream = try await stream("/a.json?ns=d", to: server)
            let head = await stream.wait(
                for: "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
            #expect(head.contains("content-type: text/event-stream; charset=utf-8\r\n"))
            _ = try await RawClient.request("PUT", "/a/b.json?ns=d", "1", to: server)
            await stream.wait(for: "event: put\ndata: {\"path\":\"/b\",\"data\":1}\n\n")
            _ = try await RawClient.request("PATCH", "/a.json?ns=d", #"{"c":2,"e":3}"#, to: server)
            await stream.wait(for: "event: patch\n")
            await stream.wait(for: "event: keep-alive\ndata: null\n\n")
            #expect(stream.text.contains("keep-alive"))
            try await stream.close()
        }
    }

    @Test("a stream that the rules deny is refused; one that they deny later is cancelled")
    func denied() async throws {
        let rules = try SecurityRules(#"{"rules": {"a": {".read": true}}}"#)
        try await withServer({ _, realtime in realtime.rules.common = rules }) { server in
            let refused = try await stream("/b.json?ns=d", to: server)
            #expect(await refused.wait(for: "Permission denied").hasPrefix("HTTP/1.1 401 "))
            let stream = try await stream("/a.json?ns=d", to: server)
            await stream.wait(for: "event: put\n")
            _ = try await RawClient.request(
                "PUT", "/.settings/rules.json?ns=d", #"{"rules": {}}"#, owner, to: server)
            #expect(await stream.wait(for: "event: cancel\n").contains("event: cancel\n"))
            await stream.wait(for: "\r\n0\r\n\r\n")
        }
    }

    @Test("a stream whose client takes nothing ends, without a share in the server's memory")
    func slowStream() async throws {
        try await withServer({ server, realtime in
            server.limits.patience = .milliseconds(300)
            realtime.maxStreamBytes = 1 << 20
        }) { server in
            let slow = try await stream("/a.json?ns=d", to: server)
            await slow.wait(for: "event: put\n")
            try await slow.setReading(false)
            let writer = await LawClient(try server.remote("d"))
            for number in 0..<20 { try await writer.put("a", Self.text(number, 500_000)) }
            try await slow.setReading(true)
            await slow.waitForEnd()
            #expect(try await writer.put("a", "1") == ["ok"])
        }
    }

    // MARK: WebSockets

    /// A client that has left a write for its end; on a busy machine a client may be silent for too
    /// long before that, and tries again.
    private func leaveForEnd(_ name: String, on server: MountedServer) async throws -> RawClient {
        let request =
            #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/p/\#(name)","d":"gone"}}}"#
        while true {
            let client = try await RawClient(server.port)
            try await client.upgrade()
            await client.wait(for: #""t":"h""#)
            try? await client.sendText(request)
            let answer = #"{"r":1,"b":{"s":"ok""#
            if await client.wait(for: answer).contains(answer) { return client }
        }
    }

    @Test("presence: what was left for the end is written when the client vanishes, or is silent")
    func presence() async throws {
        try await withServer({ _, realtime in realtime.session.silence = .seconds(1) }) {
            server in
            let reader = try await stream("/p.json?ns=demo", to: server)
            await reader.wait(for: "event: put\n")
            for (name, vanishes) in [("a", true), ("b", false)] {
                let client = try await leaveForEnd(name, on: server)
                if vanishes { try await client.close() }
                await reader.wait(for: #"{"path":"/\#(name)","data":"gone"}"#)
            }
            #expect(reader.text.contains(#"{"path":"/b","data":"gone"}"#))
        }
    }

    @Test("a server that stops writes what was left, tells its clients, and leaves nothing open")
    func stops() async throws {
        let directory = try TemporaryDirectory()
        let change = {
            (server: inout ServerConfiguration, realtime: inout RealtimeServerConfiguration) in
            // Enough for the farewells on a busy machine.
            server.limits.grace = .seconds(10)
            server.storage = .directory(directory.path)
            realtime.storage = .directory(directory.file(".realtime"))
        }
        let server = try await MountedServer(change)
        let client = await LawClient(try server.remote())
        await client.send(.onDisconnectPut(TreePath("p"), try Node(parsing: "\"gone\"")))
        let events = try await stream("/p.json?ns=demo", to: server)
        await events.wait(for: "event: put\n")
        try await server.stop()
        await client.wait(for: "closed")
        await events.waitForEnd()
        let next = try await MountedServer(change)
        let body = try await RawClient.request("GET", "/p.json?ns=demo", to: next).body
        #expect(body == "\"gone\"")
        try await next.stop()
    }

    @Test("a client that takes nothing is disconnected, and the others are served")
    func slowSocket() async throws {
        try await withServer({ server, _ in server.limits.patience = .milliseconds(300) }) {
            server in
            let reader = try await stream("/p.json?ns=demo", to: server)
            await reader.wait(for: "event: put\n")
            let slow = try await RawClient(server.port)
            try await slow.upgrade()
            try await slow.sendText(#"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/p","d":"gone"}}}"#)
            try await slow.sendText(#"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/big","h":""}}}"#)
            await slow.wait(for: #"{"r":2,"b":{"s":"ok""#)
            try await slow.setReading(false)
            let writer = await LawClient(try server.remote())
            for number in 0..<10 { try await writer.put("big", Self.text(number, 1_000_000)) }
            await reader.wait(for: #"{"path":"/","data":"gone"}"#)
            #expect(try await writer.put("a", "1") == ["ok"])
        }
    }

    @Test("clients that send nonsense are told so or disconnected, and the others are served")
    func hostile() async throws {
        try await withServer { server in
            let other = await LawClient(try server.remote())
            let texts = [
                "", "x", "{}", "[]", "999999", #"{"t":"d"}"#, #"{"t":"c","d":{"t":"x"}}"#,
                #"{"t":"d","d":{"r":1,"a":"q","b":{}}}"#,
                #"{"t":"d","d":{"r":-1,"a":"p","b":{"p":"/a"}}}"#,
                #"{"t":"d","d":{"r":1e300,"a":"p","b":{"p":"/a","d":1}}}"#,
                String(repeating: "[", count: 60_000),
            ]
            for text in texts {
                let client = try await RawClient(server.port)
                try await client.upgrade()
                await client.wait(for: #""t":"h""#)
                try await client.sendText(text)
                try await client.sendText("0")
                try await client.send(RawClient.frame(0x88, [3, 232]))
                await client.waitForEnd()
            }
            var random = SeededRandom()
            print(random)
            for _ in 0..<40 {
                let client = try await RawClient(server.port)
                try await client.upgrade()
                let noise = (0..<random.below(300)).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
                try? await client.send(noise)
                try? await client.close()
            }
            #expect(try await other.put("a", "1") == ["ok"])
        }
    }
}
