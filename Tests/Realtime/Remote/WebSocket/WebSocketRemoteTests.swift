import Foundation
import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import LarderRealtimeWebSocket

/// A client's connection whose events a test waits for.
private final class Client: Sendable {
    let connection: any RealtimeConnection
    private let events: Awaited<[String]>

    init(_ remote: any RealtimeRemote, lastSessionID: String? = nil) {
        let events = Awaited<[String]>([])
        self.events = events
        connection = remote.connect(ConnectRequest(lastSessionID: lastSessionID)) { event in
            events.change { $0.append(Self.line(event)) }
        }
    }

    private static func line(_ event: ConnectionEvent) -> String {
        switch event {
        case .opened(let hello): "opened \(hello.sessionID)"
        case .response(let number, let response): "response \(number) \(response.status.rawValue)"
        case .push: "push"
        case .reset(let host): "reset \(host)"
        case .shutdown(let reason): "shutdown \(reason)"
        case .closed(let error): "closed \(error.map { "\($0.kind)" } ?? "in order")"
        }
    }

    /// Waits for a number of events.
    ///
    /// - Returns: all events so far.
    func wait(for count: Int) async -> [String] {
        await events.wait { $0.count >= count }
        return events.value
    }
}

@Suite(.timeLimit(.minutes(10))) struct WebSocketRemoteTests {
    private func remote(
        _ host: String, isEncrypted: Bool = false,
        _ configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) throws -> WebSocketRemote {
        try WebSocketRemote(
            RealtimeRemoteConnector.Address(
                host: host, namespace: "demo", isEncrypted: isEncrypted),
            configuration, group: MultiThreadedEventLoopGroup.singleton)
    }

    @Test func `a connection carries requests, answers and pushes, in order`() async throws {
        let script = ScriptedServer()
        let server = try await LoopbackServer { _ in script }
        let client = Client(try remote("127.0.0.1:\(server.port)"), lastSessionID: "s 0")
        while script.connections.isEmpty { await Task.yield() }
        let connection = script.connections[0]
        #expect(server.targets.withLock { $0 } == ["/.ws?v=5&ns=demo&ls=s%200"])
        connection.open()
        #expect(await client.wait(for: 1) == ["opened s1"])
        for number in 1...100 {
            client.connection.send(.put(.root, Node(.integer(1)), hash: nil), number: number)
        }
        var received = 0
        while received < 100 {
            for (number, _) in connection.read() {
                received += 1
                #expect(number == received)
                connection.push(.overwrite(.root, Node(.integer(Int64(number))), tag: nil))
                connection.answer(number)
            }
            await Task.yield()
        }
        let events = await client.wait(for: 201)
        #expect(events.dropFirst() == (1...100).flatMap { ["push", "response \($0) ok"] }[...])
        client.connection.close()
        while !connection.isClosed { await Task.yield() }
        #expect(await client.wait(for: 201).count == 201)
        try await server.close()
    }

    @Test func `large values cross the connection in both directions`() async throws {
        let script = ScriptedServer()
        let server = try await LoopbackServer { _ in script }
        let client = Client(try remote("localhost:\(server.port)"))
        while script.connections.isEmpty { await Task.yield() }
        let connection = script.connections[0]
        connection.open()
        _ = await client.wait(for: 1)
        let text = Node(.string(String(repeating: "x😀é", count: 100_000)))
        client.connection.send(.put(TreePath("a"), text, hash: nil), number: 1)
        var sent: [ScriptedConnection.Sent] = []
        while sent.isEmpty {
            sent = connection.read()
            await Task.yield()
        }
        #expect(sent[0].request == .put(TreePath("a"), text, hash: nil))
        connection.push(.overwrite(TreePath("a"), text, tag: nil))
        #expect(await client.wait(for: 2) == ["opened s1", "push"])
        try await server.close()
    }

    @Test func `a reset leads to the other host, a lost one back`() async throws {
        let (first, second) = (ScriptedServer(), ScriptedServer())
        let server = try await LoopbackServer { _ in first }
        let other = try await LoopbackServer { _ in second }
        let remote = try remote("127.0.0.1:\(server.port)")
        let redirected = Client(remote)
        while first.connections.isEmpty { await Task.yield() }
        first.connections[0].raise(.reset(host: "127.0.0.1:\(other.port)"))
        #expect(await redirected.wait(for: 1) == ["reset 127.0.0.1:\(other.port)"])

        let next = Client(remote)
        while second.connections.isEmpty { await Task.yield() }
        second.connections[0].open()
        _ = await next.wait(for: 1)
        try await other.close()
        second.connections[0].raise(.closed(nil))
        #expect(await next.wait(for: 2).last == "closed unavailable")

        #expect(await Client(remote).wait(for: 1) == ["closed unavailable"])
        let back = Client(remote)
        while first.connections.count < 2 { await Task.yield() }
        first.connections[1].raise(.shutdown(reason: "enough"))
        #expect(await back.wait(for: 1) == ["shutdown enough"])
        try await server.close()
        withExtendedLifetime(other) {}
    }

    @Test func `servers that only send clients on are an error at last`() async throws {
        let script = ScriptedServer()
        let server = try await LoopbackServer { _ in script }
        let remote = try remote("127.0.0.1:\(server.port)")
        var events: [String] = []
        for count in 1...6 {
            let client = Client(remote)
            while script.connections.count < count { await Task.yield() }
            script.connections[count - 1].raise(.reset(host: "127.0.0.1:\(server.port)"))
            events += await client.wait(for: 1)
        }
        #expect(events[..<5].allSatisfy { $0.hasPrefix("reset") })
        #expect(events[5] == "closed unavailable")
        try await server.close()
    }

    @Test func `a connection that is released is closed`() async throws {
        let script = ScriptedServer()
        let server = try await LoopbackServer { _ in script }
        var client: Client? = Client(try remote("127.0.0.1:\(server.port)"))
        while script.connections.isEmpty { await Task.yield() }
        script.connections[0].open()
        _ = await client?.wait(for: 1)
        client = nil
        while !script.connections[0].isClosed { await Task.yield() }
        try await server.close()
    }

    @Test func `TLS connects to hosts that the certificates vouch for, and to no other`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let certificate = directory.file("certificate.pem")
        try TestKeys.serverCertificate.write(toFile: certificate, atomically: true, encoding: .utf8)
        let key = try NIOSSLPrivateKey(bytes: Array(TestKeys.serverKey.utf8), format: .pem)
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(TestKeys.serverCertificate.utf8))
        let tls = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
        let script = ScriptedServer()
        let server = try await LoopbackServer(tls: tls) { _ in script }

        var configuration = WebSocketConfiguration()
        configuration.trustedCertificateFiles = [certificate]
        let host = "localhost:\(server.port)"
        let trusting = Client(try remote(host, isEncrypted: true, configuration))
        while script.connections.isEmpty { await Task.yield() }
        script.connections[0].open()
        #expect(await trusting.wait(for: 1) == ["opened s1"])
        let careful = Client(try remote(host, isEncrypted: true))
        #expect(await careful.wait(for: 1) == ["closed unavailable"])
        // The certificate names the address as well, which is checked instead of a name.
        let byAddress = Client(
            try remote("127.0.0.1:\(server.port)", isEncrypted: true, configuration))
        while script.connections.count < 2 { await Task.yield() }
        script.connections[1].open()
        #expect(await byAddress.wait(for: 1) == ["opened s1"])
        configuration.trustedCertificateFiles = [directory.file("none.pem")]
        #expect(code { try remote(host, isEncrypted: true, configuration) } == .invalidArgument)
        try await server.close()
    }

    @Test func `a port without a server, and an address of none, are errors`() async throws {
        let port = try ReservedPort()
        let client = Client(try remote("127.0.0.1:\(port.number)"))
        #expect(await client.wait(for: 1) == ["closed unavailable"])
        withExtendedLifetime(port) {}
        #expect(code { try remote("no host") } == .invalidArgument)
    }

    @Test func `limits that make no sense are refused`() throws {
        let changes: [(inout WebSocketConfiguration) -> Void] = [
            { $0.connectTimeout = .zero }, { $0.keepaliveInterval = .seconds(-1) },
            { $0.keepaliveTimeout = .zero }, { $0.writeTimeout = .zero },
            { $0.maxMessageBytes = 0 }, { $0.maxMessageBytes = .max },
        ]
        for change in changes {
            var configuration = WebSocketConfiguration()
            change(&configuration)
            #expect(
                code { try remote("localhost", isEncrypted: false, configuration) }
                    == .invalidArgument)
        }
    }
}
