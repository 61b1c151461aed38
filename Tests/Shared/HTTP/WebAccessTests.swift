import Testing

@testable import LarderHTTP

@Suite("Web access")
struct WebAccessTests {
    private func access(
        _ host: String = "127.0.0.1", allowed: [String] = [], origins: [String] = [],
        hasTLS: Bool = false
    ) -> WebAccess {
        WebAccess(
            host: host, allowedHosts: allowed,
            allowedOrigins: origins.compactMap(WebAccess.OriginPattern.init), hasTLS: hasTLS,
            machine: "kiosk")
    }

    private func admits(
        _ access: WebAccess, host: String?, origin: String? = nil, site: String? = nil
    ) -> Bool {
        access.refusal(
            of: .init(hosts: host.map { [$0] } ?? [], origin: origin, site: site)) == nil
    }

    @Test(
        "a loopback server accepts names and addresses of this machine as host",
        arguments: [
            "127.0.0.1", "127.0.0.1:8080", "127.1.2.3:1", "localhost", "localhost:8080",
            "LocalHost.:8080", "[::1]", "[::1]:8080", "kiosk:8080", "KIOSK",
        ])
    func own(host: String) {
        #expect(admits(access(), host: host))
    }

    @Test(
        "a loopback server refuses any other host",
        arguments: [
            "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
            "10.0.0.1", "0.0.0.0:8080", "[::2]:8080", "", ":8080", "127.0.0.1:x", "127.0.0.1@evil",
            "[::1", "[::1]evil", "localhost:8080:1", "127.1", "2130706433",
        ])
    func foreign(host: String) {
        #expect(!admits(access(), host: host))
        #expect(!admits(access(), host: host, origin: "http://\(host)"))
    }

    @Test("a server beyond loopback accepts any address, its own names and configured ones")
    func beyond() {
        for host in ["0.0.0.0", "10.0.0.1", "hub.example"] {
            let access = access(host, allowed: ["larder.example", "Other."])
            for own in [
                host, "10.2.3.4:8080", "[fe80::1]:8080", "localhost", "larder.example:8080",
                "other", "kiosk",
            ] {
                #expect(admits(access, host: own), "\(own)")
            }
            for foreign in ["evil.example", "a.larder.example", "example"] {
                #expect(!admits(access, host: foreign), "\(foreign)")
            }
        }
    }

    @Test("with TLS any name is accepted, and so is a request without a host")
    func names() {
        #expect(admits(access("0.0.0.0", hasTLS: true), host: "any.example:8080"))
        #expect(admits(access(), host: nil))
        #expect(access().refusal(of: .init(hosts: ["localhost", "localhost"])) != nil)
    }

    @Test("pages of the server and of configured hosts may make requests")
    func ownPages() {
        let access = access(allowed: ["app.example"])
        for (host, origin) in [
            ("localhost:8080", "http://localhost:8080"), ("127.0.0.1", "http://127.0.0.1:80"),
            ("[::1]:8080", "http://[::1]:8080"), ("localhost:8080", "https://app.example"),
            ("localhost:8080", "http://app.example:3000"),
        ] {
            #expect(admits(access, host: host, origin: origin, site: "cross-site"), "\(origin)")
        }
        for site in ["none", "same-origin"] {
            #expect(admits(access, host: "localhost:8080", site: site))
        }
        #expect(
            admits(
                self.access("0.0.0.0", hasTLS: true), host: "a.example",
                origin: "https://a.example:443"))
    }

    @Test(
        "pages of other sites may not make requests",
        arguments: [nil, "localhost:8080", "app.example"])
    func otherPages(host: String?) {
        let access = access(allowed: ["app.example"])
        for origin in [
            "http://evil.example", "null", "", "http://", "file://", "http://app.example.evil",
            "http://localhost:8080@evil.example", "http://localhost.evil.example",
            "http://127.0.0.1.evil.example", "http://10.0.0.1:8080", "ftp://localhost",
            "://localhost", "localhost", "http://localhost:3000/", "http://[::2]:3000",
        ] {
            #expect(!admits(access, host: host, origin: origin), "\(origin)")
        }
        for site in ["cross-site", "same-site", "", "x"] {
            #expect(!admits(access, host: host, site: site), "\(site)")
        }
    }
}

extension WebAccessTests {
    @Test(
        "pages of this machine may make requests while the server listens on loopback only",
        arguments: [
            "http://localhost:3000", "https://localhost:8080", "http://127.0.0.1:5173",
            "https://127.0.0.1", "http://[::1]:5173", "http://LOCALHOST:1",
        ])
    func localPages(origin: String) {
        for (host, hasTLS) in [("127.0.0.1", false), ("localhost", true), ("::1", false)] {
            let access = access(host, hasTLS: hasTLS)
            #expect(admits(access, host: "localhost:8080", origin: origin, site: "same-site"))
        }
        // A rebound name, and a server that other machines reach.
        #expect(!admits(access(), host: "evil.example:8080", origin: origin))
        for host in ["0.0.0.0", "::", "10.0.0.1", "hub.example"] {
            #expect(!admits(access(host), host: "10.0.0.1:8080", origin: origin), "\(host)")
        }
    }

    @Test("pages of allowed origins may make requests, with their scheme and port only")
    func allowedOrigins() {
        let access = access(
            "0.0.0.0",
            origins: [
                "https://app.example", "http://dev.example:3000", "https://*.example.com",
                "capacitor://localhost",
            ])
        for origin in [
            "https://app.example", "https://APP.example:443", "http://dev.example:3000",
            "https://a.example.com", "https://a.b.example.com", "capacitor://localhost",
        ] {
            #expect(admits(access, host: "10.0.0.1:8080", origin: origin), "\(origin)")
            #expect(!admits(access, host: "evil.example", origin: origin), "\(origin)")
        }
        for origin in [
            "http://app.example", "https://app.example:8443", "http://dev.example",
            "https://example.com", "https://.example.com", "https://evilexample.com",
            "https://a.example.com.evil", "http://a.example.com", "http://localhost", "null",
        ] {
            #expect(!admits(access, host: "10.0.0.1:8080", origin: origin), "\(origin)")
        }
    }

    @Test(
        "what is no origin is refused as a pattern",
        arguments: [
            "*", "null", "", "app.example", "https://", "https://*", "https://*.com", "https://*.",
            "https://a.*.example", "https://app.example/", "https://user@app.example", "://a",
            "https://app.example:x", "https:// a",
        ])
    func patterns(text: String) {
        #expect(WebAccess.OriginPattern(text) == nil)
    }

    @Test("a refusal names its kind and the option that allows it")
    func reasons() throws {
        let access = access()
        let host = try #require(access.refusal(of: .init(hosts: ["evil.example"])))
        #expect(host.kind == .host && host.message.contains("--allow-host"))
        for origin in ["http://evil.example", "null"] {
            let refusal = try #require(
                access.refusal(of: .init(hosts: ["localhost"], origin: origin)))
            #expect(refusal.kind == .origin && refusal.message.contains("'\(origin)'"))
            #expect(refusal.message.contains("larderd --allow-origin"))
        }
    }
}

@Suite("Bearer token")
struct BearerTokenTests {
    @Test("a token is compared as a whole")
    func token() throws {
        let token = try #require(BearerToken("secret"))
        #expect(token.admits("Bearer secret"))
        #expect(token.admits("bearer secret"))
        for header in [
            nil, "", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secretx",
            "Bearer Secret", "Basic secret", "Bearer  secre",
        ] {
            #expect(!token.admits(header), "\(header ?? "nil")")
        }
        #expect(BearerToken("") == nil)
        #expect(BearerToken(nil) == nil)
    }
}
