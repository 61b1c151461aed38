import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeWebSocket

@Suite struct ServerHostsTests {
    private func hosts(isEncrypted: Bool = true) throws -> ServerHosts {
        ServerHosts(try #require(ServerEndpoint("main.example", isEncrypted: isEncrypted)))
    }

    @Test func `the host of a greeting serves the next connections`() throws {
        var hosts = try hosts()
        hosts.greeted(naming: "s1.example:444")
        hosts.ended(wasGreeted: true)
        #expect("\(hosts.current)" == "s1.example:444")
        hosts.greeted(naming: "no host")
        #expect("\(hosts.current)" == "s1.example:444")
    }

    @Test func `without encryption the host of a greeting is ignored, that of a reset is not`()
        throws
    {
        var hosts = try hosts(isEncrypted: false)
        hosts.greeted(naming: "other.example")
        #expect("\(hosts.current)" == "main.example")
        #expect(hosts.reset(to: "other.example", after: .zero) == true)
        #expect("\(hosts.current)" == "other.example")
    }

    @Test func `a host that cannot be reached gives way to the configured one`() throws {
        var hosts = try hosts()
        #expect(hosts.reset(to: "s1.example", after: .zero) == true)
        hosts.ended(wasGreeted: false)
        #expect("\(hosts.current)" == "main.example")
    }

    @Test func `resets in a row are followed five times, useful ones without end`() throws {
        var hosts = try hosts()
        for _ in 0..<5 { #expect(hosts.reset(to: "s1.example", after: .seconds(1)) == true) }
        #expect(hosts.reset(to: "s2.example", after: .seconds(1)) == false)
        #expect("\(hosts.current)" == "main.example")
        for _ in 0..<20 { #expect(hosts.reset(to: "s1.example", after: .seconds(31)) == true) }
        #expect(hosts.reset(to: "a b", after: .seconds(31)) == false)
    }
}
