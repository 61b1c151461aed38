import LarderModel
import Logging
import Testing

@testable import LarderServer

@Suite("Server: who may reach it")
struct AccessTests {
    private func configuration(_ host: String) -> ServerConfiguration {
        ServerConfiguration(host: host, port: 0, storage: .memory)
    }

    @Test(
        "Addresses of this machine alone need nothing",
        arguments: ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    func loopback(host: String) throws {
        try configuration(host).checkExposure()
    }

    @Test(
        "Any other address is refused without TLS and a token",
        arguments: [
            "0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com", "127.0.0.256",
            "localhost.example.com", "", "127.0.0.1 ",
        ])
    func exposed(host: String) {
        #expect(code { try configuration(host).checkExposure() } == .failedPrecondition)
    }

    @Test("One of both is not enough")
    func half() throws {
        var configuration = configuration("0.0.0.0")
        configuration.token = "secret"
        #expect(code { try configuration.checkExposure() } == .failedPrecondition)
        configuration.tls = .init(certificatePath: "a", keyPath: "b")
        try configuration.checkExposure()
        configuration.token = ""
        #expect(code { try configuration.checkExposure() } == .failedPrecondition)
        configuration.allowsInsecure = true
        try configuration.checkExposure()
    }

    @Test("An empty token is refused, wherever the server listens", arguments: [false, true])
    func emptyToken(isOpen: Bool) throws {
        var configuration = configuration(isOpen ? "0.0.0.0" : "127.0.0.1")
        configuration.allowsInsecure = isOpen
        configuration.token = ""
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(code { try Server(configuration, logger: logger) } == .invalidArgument)
        configuration.token = nil
        _ = try Server(configuration, logger: logger)
    }

    @Test("A token is compared as a whole")
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

/// The code of the error that a closure ends with; nil where it ends without one.
func code<R>(_ body: () throws -> R) -> LarderError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? LarderError)?.kind ?? .unknown
    }
}

/// As the other form, of what takes its time.
func asyncCode<R: Sendable>(_ body: () async throws -> R) async -> LarderError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? LarderError)?.kind ?? .unknown
    }
}
