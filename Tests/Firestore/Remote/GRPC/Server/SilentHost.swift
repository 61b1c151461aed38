import NIOCore
import NIOPosix

/// A host that lets clients connect, and never says a word.
final class SilentHost: Sendable {
    let port: Int
    private let listener: any Channel

    private init(_ listener: any Channel) {
        self.listener = listener
        port = listener.localAddress?.port ?? 0
    }

    static func started() async throws -> SilentHost {
        SilentHost(
            // Connections wait in the backlog and are never accepted.
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.autoRead, value: false)
                .bind(host: "127.0.0.1", port: 0).get())
    }

    deinit {
        listener.close(promise: nil)
    }
}
