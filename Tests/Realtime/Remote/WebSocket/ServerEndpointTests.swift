import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeWebSocket

@Suite struct ServerEndpointTests {
    @Test(arguments: [
        ("a.firebaseio.com", true, "a.firebaseio.com", 443, "a.firebaseio.com"),
        ("A.Example:8443", true, "a.example", 8443, "a.example:8443"),
        ("localhost:9000", false, "localhost", 9000, "localhost:9000"),
        ("localhost:80", false, "localhost", 80, "localhost"),
        ("[::1]:9000", false, "::1", 9000, "[::1]:9000"), ("[::1]", true, "::1", 443, "[::1]"),
        ("127.0.0.1", false, "127.0.0.1", 80, "127.0.0.1"),
    ])
    func `hosts have a port of their own or that of the protocol`(
        text: String, isEncrypted: Bool, host: String, port: Int, description: String
    ) throws {
        let endpoint = try #require(ServerEndpoint(text, isEncrypted: isEncrypted))
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect("\(endpoint)" == description)
    }

    @Test(arguments: [
        "", ":80", "a b", "a\r\nX: y", "a/b", "a?b", "é", "a:99999", "a:", "::1", "a@b",
        String(repeating: "a", count: 256),
    ])
    func `text that names no host is refused`(text: String) {
        #expect(ServerEndpoint(text, isEncrypted: true) == nil)
    }

    @Test func `a request names the database and the last session`() {
        #expect(
            ServerEndpoint.requestTarget(namespace: "demo", lastSessionID: nil)
                == "/.ws?v=5&ns=demo")
        #expect(
            ServerEndpoint.requestTarget(namespace: "a b&c", lastSessionID: "s=1\r\n")
                == "/.ws?v=5&ns=a%20b%26c&ls=s%3D1%0D%0A")
    }
}
