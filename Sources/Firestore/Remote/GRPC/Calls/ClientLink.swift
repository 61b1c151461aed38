import GRPCCore
import GRPCNIOTransportHTTP2

/// A client of gRPC that runs: one connection, which makes itself again after it was idle.
///
/// Lives as long as calls hold it.
final class ClientLink: Sendable {
    /// The client.
    let client: GRPCClient<SettledTransport<HTTP2ClientTransport.Posix>>
    private let running: Task<Void, Never>

    init(_ transport: HTTP2ClientTransport.Posix) {
        let client = GRPCClient(transport: SettledTransport(transport))
        self.client = client
        // Its life is not part of whatever calls first.
        running = Task.detached { try? await client.runConnections() }
    }

    deinit {
        running.cancel()
    }

    /// Takes no more calls; those that are under way go on.
    func retire() {
        client.beginGracefulShutdown()
    }

    /// Ends everything.
    func end() async {
        client.beginGracefulShutdown()
        running.cancel()
        await running.value
    }
}
