import LarderHTTP
import LarderModel
import LarderTestSupport
import Logging
import Testing

@testable import LarderServer

@Suite("Server configuration")
struct ServerConfigurationTests {
    private func configuration(_ host: String) -> ServerConfiguration {
        ServerConfiguration(host: host, port: 0, storage: .memory)
    }

    @Test(
        "a loopback address needs neither TLS nor a token",
        arguments: ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    func loopback(host: String) throws {
        try configuration(host).checkExposure()
    }

    @Test(
        "any other address is refused without TLS and a token",
        arguments: [
            "0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com", "127.0.0.256",
            "localhost.example.com", "", "127.0.0.1 ",
        ])
    func exposed(host: String) {
        #expect(code { try configuration(host).checkExposure() } == .failedPrecondition)
    }

    @Test("TLS alone or a token alone is not enough")
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

    @Test("an empty token is refused at any address", arguments: [false, true])
    func emptyToken(isOpen: Bool) throws {
        var configuration = configuration(isOpen ? "0.0.0.0" : "127.0.0.1")
        configuration.allowsInsecure = isOpen
        configuration.token = ""
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        #expect(code { try Server(configuration, logger: logger) } == .invalidArgument)
        configuration.token = nil
        _ = try Server(configuration, logger: logger)
    }

    @Test("a server refuses a data directory that another server uses")
    func server() async throws {
        let parent = try TemporaryDirectory()
        let path = parent.file("data")
        func server() throws -> Server {
            try Server(
                ServerConfiguration(port: 0, storage: .directory(path)),
                logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        let first = try server()
        let running = Task { try await first.run() }
        #expect(await first.port != nil)
        let second = try server()
        let isRefused = await asyncCode { try await second.run() }
        #expect(isRefused == .unavailable)
        #expect(await second.port == nil)
        running.cancel()
        try await running.value
        let third = try server()
        let again = Task { try await third.run() }
        #expect(await third.port != nil)
        again.cancel()
        try await again.value
    }

    @Test("A server whose files admit fewer connections than its limit says so")
    func connections() throws {
        for (connections, isWarned) in [(Int.max, true), (1, false)] {
            guard ProcessLimits.current.files != nil else { return }
            var configuration = ServerConfiguration(storage: .memory)
            configuration.limits.databases = 1
            configuration.limits.connections = connections
            let lines = Box<[String]>([])
            _ = try Server(
                configuration,
                logger: Logger(label: "test") { _ in
                    ClosureLog(.warning) { event in
                        lines.withLock { $0.append("\(event.message)") }
                    }
                })
            #expect(
                lines.withLock { $0.contains { $0.hasPrefix("the limit of open files") } }
                    == isWarned)
        }
    }
}
